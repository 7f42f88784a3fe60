SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;
CREATE FUNCTION public.ctxguard_follow() RETURNS trigger
    LANGUAGE plpgsql
    AS $_$
        DECLARE last record;
        BEGIN
            EXECUTE 'SELECT seq, hash FROM ' || quote_ident(TG_TABLE_SCHEMA) || '.ctxguard_entries WHERE stream = $1 ORDER BY seq DESC LIMIT 1'
                INTO last USING NEW.stream;
            IF NEW.seq <> coalesce(last.seq, 0) + 1 OR NEW.before <> coalesce(last.hash, decode(repeat('00', 32), 'hex')) THEN
                RAISE EXCEPTION 'ctxguard: an entry follows the last one of its stream';
            END IF;
            RETURN NEW;
        END $_$;
CREATE FUNCTION public.ctxguard_refuse() RETURNS trigger
    LANGUAGE plpgsql
    AS $$ BEGIN RAISE EXCEPTION 'ctxguard: the log is append-only'; END $$;
SET default_tablespace = '';
CREATE TABLE public.ctxguard_blobs (
    space bytea NOT NULL,
    address character varying NOT NULL COLLATE pg_catalog."C",
    content bytea NOT NULL
);
CREATE TABLE public.ctxguard_entries (
    id bigint NOT NULL,
    stream bigint NOT NULL,
    seq bigint NOT NULL,
    at character varying NOT NULL COLLATE pg_catalog."C",
    body bytea NOT NULL,
    refs bytea NOT NULL,
    before bytea NOT NULL,
    hash bytea NOT NULL
);
ALTER TABLE public.ctxguard_entries ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.ctxguard_entries_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.ctxguard_meta (
    name character varying NOT NULL,
    value character varying NOT NULL
);
CREATE TABLE public.ctxguard_refs (
    ref bytea NOT NULL,
    tenant bytea NOT NULL,
    stream bigint NOT NULL,
    seq bigint NOT NULL
);
CREATE TABLE public.ctxguard_streams (
    id bigint NOT NULL,
    address bytea NOT NULL,
    tenant character varying NOT NULL COLLATE pg_catalog."C",
    kind character varying NOT NULL COLLATE pg_catalog."C",
    key character varying NOT NULL COLLATE pg_catalog."C"
);
ALTER TABLE public.ctxguard_streams ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.ctxguard_streams_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.ctxguard_terms (
    space bytea NOT NULL,
    term character varying NOT NULL COLLATE pg_catalog."C",
    text bigint NOT NULL,
    count integer NOT NULL
);
CREATE TABLE public.ctxguard_texts (
    id bigint NOT NULL,
    space bytea NOT NULL,
    name bytea NOT NULL,
    key character varying NOT NULL COLLATE pg_catalog."C"
);
ALTER TABLE public.ctxguard_texts ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.ctxguard_texts_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
INSERT INTO public.ctxguard_blobs VALUES ('\x755fd3aaa8ce7b767127e8e93d82d149', '4b705999d5a24ff5dbac750cb97a6250dbbe2d92315374d76866630f88b360f5', '\x4e657665722064656c65746520616e206f726465722e');
INSERT INTO public.ctxguard_blobs VALUES ('\x755fd3aaa8ce7b767127e8e93d82d149', '75a4d54b3ec7e33e56106f9dcd912aa22e967c32cc029fa8c1427b904ba86caf', '\xe7bb9de4b88de588a0e999a4e8aea2e58d95e38082');
INSERT INTO public.ctxguard_blobs VALUES ('\x755fd3aaa8ce7b767127e8e93d82d149', 'keyed:1', '\x636970686572');
INSERT INTO public.ctxguard_entries OVERRIDING SYSTEM VALUE VALUES (1, 1, 1, '2026-06-01T12:00:01.123456+00:00', '\x7b227072696365223a312e302c2261223a3165327d', '\x5b22726574656e74696f6e222c22757365722d31225d', '\x0000000000000000000000000000000000000000000000000000000000000000', '\x7d1ee69fd03c31ef5f5244a1b6321e9e351d7623e2550390c55df8774c9ce952');
INSERT INTO public.ctxguard_entries OVERRIDING SYSTEM VALUE VALUES (2, 2, 1, '2026-06-01T12:00:02.123456+00:00', '\x7b227072696365223a312e302c2261223a3165327d', '\x5b22726574656e74696f6e222c22433a5c5c6f7264657273225d', '\x0000000000000000000000000000000000000000000000000000000000000000', '\x6fbc3cb5767ad7ee5408e37d64a9e24e4d5174b20d0d83c571ea6fd212b62c78');
INSERT INTO public.ctxguard_entries OVERRIDING SYSTEM VALUE VALUES (3, 2, 2, '2026-06-01T12:00:03.123456+00:00', '\x7b22636f756e74223a393232333337323033363835343737353830387d', '\x5b22726574656e74696f6e222c22433a5c5c6f7264657273225d', '\x6fbc3cb5767ad7ee5408e37d64a9e24e4d5174b20d0d83c571ea6fd212b62c78', '\x4a2c928d019d75e33b93b0660e41094a133f2a816d3b790afae97650e895d151');
INSERT INTO public.ctxguard_entries OVERRIDING SYSTEM VALUE VALUES (4, 3, 1, '2026-06-01T12:00:04.123456+00:00', '\x7b227072696365223a312e302c2261223a3165327d', '\x5b22726574656e74696f6e222c225c75376562665c7537613062225d', '\x0000000000000000000000000000000000000000000000000000000000000000', '\x3bd301b2c892e63f7ec67f40826cd2f17c01459e5d885ac4c56690873191410c');
INSERT INTO public.ctxguard_entries OVERRIDING SYSTEM VALUE VALUES (5, 3, 2, '2026-06-01T12:00:05.123456+00:00', '\x7b22636f756e74223a393232333337323033363835343737353830387d', '\x5b22726574656e74696f6e222c225c75376562665c7537613062225d', '\x3bd301b2c892e63f7ec67f40826cd2f17c01459e5d885ac4c56690873191410c', '\xeb16dcaea7bc30b25cc63f08773cabc85475904e49976606903345c7b3fec3ef');
INSERT INTO public.ctxguard_entries OVERRIDING SYSTEM VALUE VALUES (6, 3, 3, '2026-06-01T12:00:06.123456+00:00', '\x7b2274657874223a22e7bb9de4b88de588a0e999a4e8aea2e58d95e38082222c226e616d65223a2263616665cc81227d', '\x5b22726574656e74696f6e222c225c75376562665c7537613062225d', '\xeb16dcaea7bc30b25cc63f08773cabc85475904e49976606903345c7b3fec3ef', '\x4ecae1da6bb4b486a3a964bd66b3099f679b17a0c5883fc15b2a600621578154');
INSERT INTO public.ctxguard_entries OVERRIDING SYSTEM VALUE VALUES (7, 4, 1, '2026-06-01T12:00:07.123456+00:00', '\x7b227072696365223a312e302c2261223a3165327d', '\x5b22726574656e74696f6e222c226e756c5c7530303030225d', '\x0000000000000000000000000000000000000000000000000000000000000000', '\x3c57f260c67922d696f2262e8a168113ad0a4c71346146a0f5ca8be70de03045');
INSERT INTO public.ctxguard_entries OVERRIDING SYSTEM VALUE VALUES (8, 4, 2, '2026-06-01T12:00:08.123456+00:00', '\x7b22636f756e74223a393232333337323033363835343737353830387d', '\x5b22726574656e74696f6e222c226e756c5c7530303030225d', '\x3c57f260c67922d696f2262e8a168113ad0a4c71346146a0f5ca8be70de03045', '\x131bc1a1df458e9b104f77acec27b97a4785eb810900baa0c0acc44209da92e1');
INSERT INTO public.ctxguard_entries OVERRIDING SYSTEM VALUE VALUES (9, 4, 3, '2026-06-01T12:00:09.123456+00:00', '\x7b2274657874223a22e7bb9de4b88de588a0e999a4e8aea2e58d95e38082222c226e616d65223a2263616665cc81227d', '\x5b22726574656e74696f6e222c226e756c5c7530303030225d', '\x131bc1a1df458e9b104f77acec27b97a4785eb810900baa0c0acc44209da92e1', '\x6942a9610a2475a1024e7d42f7192f0db039518d8468544750078a0db56fae6f');
INSERT INTO public.ctxguard_entries OVERRIDING SYSTEM VALUE VALUES (10, 4, 4, '2026-06-01T12:00:10.123456+00:00', '\x610d0a62', '\x5b22726574656e74696f6e222c226e756c5c7530303030225d', '\x6942a9610a2475a1024e7d42f7192f0db039518d8468544750078a0db56fae6f', '\x6e49d69907dbdfd1c834ed99fc1111ff5c43cbe6e2bfbf002837e9729d4f302b');
INSERT INTO public.ctxguard_entries OVERRIDING SYSTEM VALUE VALUES (11, 5, 1, '2026-06-01T12:00:11.123456+00:00', '\x7b227072696365223a312e302c2261223a3165327d', '\x5b22726574656e74696f6e222c2268616c665c7564383030225d', '\x0000000000000000000000000000000000000000000000000000000000000000', '\xe2288d37ed89d8058b4d71ad0fa41326410849c567338c1222cf8a382adcb28b');
INSERT INTO public.ctxguard_entries OVERRIDING SYSTEM VALUE VALUES (12, 5, 2, '2026-06-01T12:00:12.123456+00:00', '\x7b22636f756e74223a393232333337323033363835343737353830387d', '\x5b22726574656e74696f6e222c2268616c665c7564383030225d', '\xe2288d37ed89d8058b4d71ad0fa41326410849c567338c1222cf8a382adcb28b', '\x1dfe6f5c65852c7fba003777db635d4b8bc3f6a72df378293fa89f824f5cda17');
INSERT INTO public.ctxguard_entries OVERRIDING SYSTEM VALUE VALUES (13, 5, 3, '2026-06-01T12:00:13.123456+00:00', '\x7b2274657874223a22e7bb9de4b88de588a0e999a4e8aea2e58d95e38082222c226e616d65223a2263616665cc81227d', '\x5b22726574656e74696f6e222c2268616c665c7564383030225d', '\x1dfe6f5c65852c7fba003777db635d4b8bc3f6a72df378293fa89f824f5cda17', '\x45abc2727797d248498d6b29c5b5cbf4627c97040c80485f67ed2a993951196d');
INSERT INTO public.ctxguard_entries OVERRIDING SYSTEM VALUE VALUES (14, 5, 4, '2026-06-01T12:00:14.123456+00:00', '\x610d0a62', '\x5b22726574656e74696f6e222c2268616c665c7564383030225d', '\x45abc2727797d248498d6b29c5b5cbf4627c97040c80485f67ed2a993951196d', '\x282b04fe5df5de10f2f01b1c5a0215199215e7776596abbfcb2769b919fc38e5');
INSERT INTO public.ctxguard_entries OVERRIDING SYSTEM VALUE VALUES (15, 5, 5, '2026-06-01T12:00:15.123456+00:00', '\xeda08000', '\x5b22726574656e74696f6e222c2268616c665c7564383030225d', '\x282b04fe5df5de10f2f01b1c5a0215199215e7776596abbfcb2769b919fc38e5', '\x932d4ae210bf37e302c8be0b8f33a6b5e560c5b5fbc4e28b78c9833c27ce8d78');
INSERT INTO public.ctxguard_meta VALUES ('schema_version', '1');
INSERT INTO public.ctxguard_refs VALUES ('\xb5729fb0e3ca12e7a61ff6857b99d98e', '\xed954e41fa3f395cec1efad3a62700fe', 1, 1);
INSERT INTO public.ctxguard_refs VALUES ('\x6c7c425cbf2a03e83bd31aabc37281da', '\xed954e41fa3f395cec1efad3a62700fe', 1, 1);
INSERT INTO public.ctxguard_refs VALUES ('\xad0a48b013a9e825f20e907074b850bd', '\xed954e41fa3f395cec1efad3a62700fe', 2, 1);
INSERT INTO public.ctxguard_refs VALUES ('\x6c7c425cbf2a03e83bd31aabc37281da', '\xed954e41fa3f395cec1efad3a62700fe', 2, 1);
INSERT INTO public.ctxguard_refs VALUES ('\x6c7c425cbf2a03e83bd31aabc37281da', '\xed954e41fa3f395cec1efad3a62700fe', 2, 2);
INSERT INTO public.ctxguard_refs VALUES ('\xad0a48b013a9e825f20e907074b850bd', '\xed954e41fa3f395cec1efad3a62700fe', 2, 2);
INSERT INTO public.ctxguard_refs VALUES ('\x4b9dd7128f90dbc2b4009fc0672ca14b', '\xed954e41fa3f395cec1efad3a62700fe', 3, 1);
INSERT INTO public.ctxguard_refs VALUES ('\x6c7c425cbf2a03e83bd31aabc37281da', '\xed954e41fa3f395cec1efad3a62700fe', 3, 1);
INSERT INTO public.ctxguard_refs VALUES ('\x6c7c425cbf2a03e83bd31aabc37281da', '\xed954e41fa3f395cec1efad3a62700fe', 3, 2);
INSERT INTO public.ctxguard_refs VALUES ('\x4b9dd7128f90dbc2b4009fc0672ca14b', '\xed954e41fa3f395cec1efad3a62700fe', 3, 2);
INSERT INTO public.ctxguard_refs VALUES ('\x6c7c425cbf2a03e83bd31aabc37281da', '\xed954e41fa3f395cec1efad3a62700fe', 3, 3);
INSERT INTO public.ctxguard_refs VALUES ('\x4b9dd7128f90dbc2b4009fc0672ca14b', '\xed954e41fa3f395cec1efad3a62700fe', 3, 3);
INSERT INTO public.ctxguard_refs VALUES ('\x6c7c425cbf2a03e83bd31aabc37281da', '\xed954e41fa3f395cec1efad3a62700fe', 4, 1);
INSERT INTO public.ctxguard_refs VALUES ('\xca1b87c70c6a262cb9f8a624ccf86c30', '\xed954e41fa3f395cec1efad3a62700fe', 4, 1);
INSERT INTO public.ctxguard_refs VALUES ('\xca1b87c70c6a262cb9f8a624ccf86c30', '\xed954e41fa3f395cec1efad3a62700fe', 4, 2);
INSERT INTO public.ctxguard_refs VALUES ('\x6c7c425cbf2a03e83bd31aabc37281da', '\xed954e41fa3f395cec1efad3a62700fe', 4, 2);
INSERT INTO public.ctxguard_refs VALUES ('\xca1b87c70c6a262cb9f8a624ccf86c30', '\xed954e41fa3f395cec1efad3a62700fe', 4, 3);
INSERT INTO public.ctxguard_refs VALUES ('\x6c7c425cbf2a03e83bd31aabc37281da', '\xed954e41fa3f395cec1efad3a62700fe', 4, 3);
INSERT INTO public.ctxguard_refs VALUES ('\xca1b87c70c6a262cb9f8a624ccf86c30', '\xed954e41fa3f395cec1efad3a62700fe', 4, 4);
INSERT INTO public.ctxguard_refs VALUES ('\x6c7c425cbf2a03e83bd31aabc37281da', '\xed954e41fa3f395cec1efad3a62700fe', 4, 4);
INSERT INTO public.ctxguard_refs VALUES ('\x6c7c425cbf2a03e83bd31aabc37281da', '\xed954e41fa3f395cec1efad3a62700fe', 5, 1);
INSERT INTO public.ctxguard_refs VALUES ('\xc4d9cbad36fb5ef9d7761a5dc21beb83', '\xed954e41fa3f395cec1efad3a62700fe', 5, 1);
INSERT INTO public.ctxguard_refs VALUES ('\xc4d9cbad36fb5ef9d7761a5dc21beb83', '\xed954e41fa3f395cec1efad3a62700fe', 5, 2);
INSERT INTO public.ctxguard_refs VALUES ('\x6c7c425cbf2a03e83bd31aabc37281da', '\xed954e41fa3f395cec1efad3a62700fe', 5, 2);
INSERT INTO public.ctxguard_refs VALUES ('\x6c7c425cbf2a03e83bd31aabc37281da', '\xed954e41fa3f395cec1efad3a62700fe', 5, 3);
INSERT INTO public.ctxguard_refs VALUES ('\xc4d9cbad36fb5ef9d7761a5dc21beb83', '\xed954e41fa3f395cec1efad3a62700fe', 5, 3);
INSERT INTO public.ctxguard_refs VALUES ('\xc4d9cbad36fb5ef9d7761a5dc21beb83', '\xed954e41fa3f395cec1efad3a62700fe', 5, 4);
INSERT INTO public.ctxguard_refs VALUES ('\x6c7c425cbf2a03e83bd31aabc37281da', '\xed954e41fa3f395cec1efad3a62700fe', 5, 4);
INSERT INTO public.ctxguard_refs VALUES ('\x6c7c425cbf2a03e83bd31aabc37281da', '\xed954e41fa3f395cec1efad3a62700fe', 5, 5);
INSERT INTO public.ctxguard_refs VALUES ('\xc4d9cbad36fb5ef9d7761a5dc21beb83', '\xed954e41fa3f395cec1efad3a62700fe', 5, 5);
INSERT INTO public.ctxguard_streams OVERRIDING SYSTEM VALUE VALUES (1, '\xd4a134e4f060a7b9cf7ed6c6e312ca7b8ad9b39c118eb5093771aae266754d78', 'default', 'consents', 'user-1');
INSERT INTO public.ctxguard_streams OVERRIDING SYSTEM VALUE VALUES (2, '\xbb78baef0d7b41f8123173ec1fc3ba012b5988b6a612f5a30e38a87641fd7f4c', 'default', 'consents', 'C:\u005corders');
INSERT INTO public.ctxguard_streams OVERRIDING SYSTEM VALUE VALUES (3, '\x73f193af9e995d74eb7ef7be1acf7d8fd1acaa2fe6a65edf3d417e8c5edb28e6', 'default', 'consents', '线程');
INSERT INTO public.ctxguard_streams OVERRIDING SYSTEM VALUE VALUES (4, '\x51cb976e08b6c62114d9cce25c22d5fca47e8333fc23f62f3c7f16020386f33d', 'default', 'consents', 'nul\u0000');
INSERT INTO public.ctxguard_streams OVERRIDING SYSTEM VALUE VALUES (5, '\x233d85f243d9f3ac2116c98a5fd736680b4678edd46aecf6eb1b7d75a7b1d596', 'default', 'consents', 'half\ud800');
INSERT INTO public.ctxguard_terms VALUES ('\x755fd3aaa8ce7b767127e8e93d82d149', 'an', 1, 1);
INSERT INTO public.ctxguard_terms VALUES ('\x755fd3aaa8ce7b767127e8e93d82d149', 'delete', 1, 1);
INSERT INTO public.ctxguard_terms VALUES ('\x755fd3aaa8ce7b767127e8e93d82d149', 'never', 1, 1);
INSERT INTO public.ctxguard_terms VALUES ('\x755fd3aaa8ce7b767127e8e93d82d149', 'order', 1, 1);
INSERT INTO public.ctxguard_terms VALUES ('\x755fd3aaa8ce7b767127e8e93d82d149', '不删', 2, 1);
INSERT INTO public.ctxguard_terms VALUES ('\x755fd3aaa8ce7b767127e8e93d82d149', '删除', 2, 1);
INSERT INTO public.ctxguard_terms VALUES ('\x755fd3aaa8ce7b767127e8e93d82d149', '单', 2, 1);
INSERT INTO public.ctxguard_terms VALUES ('\x755fd3aaa8ce7b767127e8e93d82d149', '绝不', 2, 1);
INSERT INTO public.ctxguard_terms VALUES ('\x755fd3aaa8ce7b767127e8e93d82d149', '订单', 2, 1);
INSERT INTO public.ctxguard_terms VALUES ('\x755fd3aaa8ce7b767127e8e93d82d149', '除订', 2, 1);
INSERT INTO public.ctxguard_texts OVERRIDING SYSTEM VALUE VALUES (1, '\x755fd3aaa8ce7b767127e8e93d82d149', '\xcc0a6d0d1ba2aaf7f932d43b45894760', 'm0');
INSERT INTO public.ctxguard_texts OVERRIDING SYSTEM VALUE VALUES (2, '\x755fd3aaa8ce7b767127e8e93d82d149', '\xd37f6c33da172c38b6e5591f6be326ce', 'm1');
SELECT pg_catalog.setval('public.ctxguard_entries_id_seq', 15, true);
SELECT pg_catalog.setval('public.ctxguard_streams_id_seq', 5, true);
SELECT pg_catalog.setval('public.ctxguard_texts_id_seq', 2, true);
ALTER TABLE ONLY public.ctxguard_blobs
    ADD CONSTRAINT ctxguard_blobs_pkey PRIMARY KEY (space, address);
ALTER TABLE ONLY public.ctxguard_entries
    ADD CONSTRAINT ctxguard_entries_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.ctxguard_entries
    ADD CONSTRAINT ctxguard_entries_stream_seq_key UNIQUE (stream, seq);
ALTER TABLE ONLY public.ctxguard_meta
    ADD CONSTRAINT ctxguard_meta_pkey PRIMARY KEY (name);
ALTER TABLE ONLY public.ctxguard_refs
    ADD CONSTRAINT ctxguard_refs_pkey PRIMARY KEY (ref, tenant, stream, seq);
ALTER TABLE ONLY public.ctxguard_streams
    ADD CONSTRAINT ctxguard_streams_address_key UNIQUE (address);
ALTER TABLE ONLY public.ctxguard_streams
    ADD CONSTRAINT ctxguard_streams_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.ctxguard_terms
    ADD CONSTRAINT ctxguard_terms_pkey PRIMARY KEY (space, term, text);
ALTER TABLE ONLY public.ctxguard_texts
    ADD CONSTRAINT ctxguard_texts_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.ctxguard_texts
    ADD CONSTRAINT ctxguard_texts_space_name_key UNIQUE (space, name);
CREATE INDEX ix_ctxguard_terms_text ON public.ctxguard_terms USING btree (text);
CREATE TRIGGER ctxguard_blobs_refuse BEFORE UPDATE ON public.ctxguard_blobs FOR EACH STATEMENT EXECUTE FUNCTION public.ctxguard_refuse();
ALTER TABLE public.ctxguard_blobs ENABLE ALWAYS TRIGGER ctxguard_blobs_refuse;
CREATE TRIGGER ctxguard_entries_follow BEFORE INSERT ON public.ctxguard_entries FOR EACH ROW EXECUTE FUNCTION public.ctxguard_follow();
CREATE TRIGGER ctxguard_entries_refuse BEFORE DELETE OR UPDATE OR TRUNCATE ON public.ctxguard_entries FOR EACH STATEMENT EXECUTE FUNCTION public.ctxguard_refuse();
ALTER TABLE public.ctxguard_entries ENABLE ALWAYS TRIGGER ctxguard_entries_refuse;
CREATE TRIGGER ctxguard_refs_refuse BEFORE DELETE OR UPDATE OR TRUNCATE ON public.ctxguard_refs FOR EACH STATEMENT EXECUTE FUNCTION public.ctxguard_refuse();
ALTER TABLE public.ctxguard_refs ENABLE ALWAYS TRIGGER ctxguard_refs_refuse;
CREATE TRIGGER ctxguard_streams_refuse BEFORE DELETE OR UPDATE OR TRUNCATE ON public.ctxguard_streams FOR EACH STATEMENT EXECUTE FUNCTION public.ctxguard_refuse();
ALTER TABLE public.ctxguard_streams ENABLE ALWAYS TRIGGER ctxguard_streams_refuse;
ALTER TABLE ONLY public.ctxguard_entries
    ADD CONSTRAINT ctxguard_entries_stream_fkey FOREIGN KEY (stream) REFERENCES public.ctxguard_streams(id);
