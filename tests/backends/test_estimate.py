from __future__ import annotations

import json
import random
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_ctxguard.backends.estimate import estimate_tokens
from langchain_ctxguard.backends.vocabulary import load_vocabulary, text_counter

_DICE = random.Random(4)

ENGLISH = """The returns desk opens at nine, and by ten past there is usually a queue that reaches the bakery. Most people bring the
receipt; the rest bring a story. Our rule is short: unopened goods within thirty days, opened goods within fourteen, and anything
with a broken seal only after the manager has looked at it. On Tuesday a man wanted his money back for a kettle he had bought in
March. He was polite about it, he simply insisted that the warranty covered disappointment. We offered him a repair instead, and
he said he would think it over, which he did, standing at the counter, for most of the morning. Nobody minded very much."""
CHINESE = """退货柜台早上九点开门，到了九点十分，队伍通常已经排到面包店门口了。大多数顾客会带上小票，其余的人则带来一个故事。我们的规定很简单：
未拆封的商品三十天内可以退，拆封的商品十四天内可以退，封条损坏的必须由经理检查以后才能处理。星期二有一位先生想退一个三月份买的水壶，
他很有礼貌，只是坚持认为保修也应该包括失望。我们建议他先维修，他说要考虑一下，于是就站在柜台前面考虑了大半个上午，谁也没有催他。"""
MIXED = """请先运行 `make test`，如果失败就把 log 发到 #build 频道。订单 ORD-20418 的状态是 pending_review，金额 1,250.00 元。
用户说 "please cancel it"，但是 policy 要求 manager approval，所以 agent 不能直接调用 delete_order，只能返回 403 并说明原因。
部署步骤：1) 更新 config.yaml 里的 timeout=30；2) 重启 worker；3) 在 Grafana 上确认 p99 < 200 ms。"""
CODE = '''
def settle(orders: list[Order], *, today: date, limit: Decimal = Decimal("500.00")) -> dict[str, Decimal]:
    """Return what each customer still owes, oldest order first."""
    owed: dict[str, Decimal] = defaultdict(Decimal)
    for order in sorted(orders, key=lambda item: item.placed_at):
        if order.status is Status.CANCELLED or order.due > today:
            continue
        open_sum = order.total - sum(payment.amount for payment in order.payments)
        if open_sum <= 0:
            logger.debug("order %s is settled", order.id)
            continue
        owed[order.customer_id] += min(open_sum, limit)
    return dict(owed)


class Ledger:
    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(path, isolation_level=None)
        self._connection.execute("PRAGMA journal_mode=WAL")

    def append(self, entry: Entry) -> int:
        row = self._connection.execute("INSERT INTO ledger(kind, body) VALUES (?, ?) RETURNING id", (entry.kind, entry.to_json()))
        return row.fetchone()[0]
'''
JSON = json.dumps(
    [
        {
            "order_id": f"ORD-{20_000 + n}",
            "customer": {"name": "Mei Lin", "email": f"mei{n}@example.com", "is_member": n % 2 == 0},
            "items": [{"sku": f"KT-{n:03d}", "title": "electric kettle", "quantity": n % 3 + 1, "unit_price": 39.9 + n}],
            "status": "pending",
            "placed_at": f"2026-03-{n + 1:02d}T09:15:00Z",
            "notes": None,
        }
        for n in range(9)
    ],
    indent=2,
)
IDS = "\n".join(f"{uuid.UUID(int=_DICE.getrandbits(128))} {_DICE.getrandbits(96):x}" for _ in range(20))
NUMBERS = "\n".join(", ".join(f"{_DICE.random() * 10 ** _DICE.randrange(6):.{_DICE.randrange(4)}f}" for _ in range(8)) for _ in range(20))
GERMAN = """Der Schalter für Rückgaben öffnet um neun, und um zehn nach neun reicht die Schlange meist bis zur Bäckerei. Die meisten
bringen den Kassenzettel mit, die übrigen eine Geschichte. Ungeöffnete Ware nehmen wir dreißig Tage lang zurück, geöffnete vierzehn
Tage, und beschädigte Verpackungen muss zuerst die Filialleiterin begutachten. Niemand darf Rückerstattungen ohne Genehmigung auszahlen."""
ARABIC = """يفتح مكتب المرتجعات في الساعة التاسعة صباحا، وبعد عشر دقائق يصل الطابور عادة إلى باب المخبز. يحضر معظم الزبائن الإيصال،
أما الباقون فيحضرون قصة. نقبل البضائع غير المفتوحة خلال ثلاثين يوما، والمفتوحة خلال أربعة عشر يوما، ولا يجوز رد المبلغ دون موافقة المدير."""
EMOJI = "Launch day 🚀🎉 all green ✅✅ thanks team 🙏❤️ except billing 😢🔥 who is on call? 👀 me 🙋‍♀️ fixing it 🛠️💪🏽 done 🥳 " * 4
RUSSIAN = """Отдел возврата открывается в девять, а в десять минут десятого очередь обычно уже доходит до булочной. Большинство приносит чек,
остальные приносят историю. Невскрытый товар мы принимаем тридцать дней, вскрытый четырнадцать, а деньги возвращает только управляющий."""
JAPANESE = (
    "返品窓口は九時に開きますが、九時十分には列がパン屋の前まで伸びていることが多いです。未開封の商品は三十日以内、開封済みの商品は十四日以内に限り返品できます。"
    * 2
)
KOREAN = (
    "반품 창구는 아홉 시에 문을 열지만, 아홉 시 십 분이면 줄이 보통 빵집 앞까지 이어집니다. 개봉하지 않은 상품은 삼십 일 안에 반품할 수 있습니다. "
    * 2
)

CLOSE = {"English": ENGLISH, "Chinese": CHINESE, "mixed": MIXED, "code": CODE, "JSON": JSON, "ids": IDS, "numbers": NUMBERS}
ROUGH = {"German": GERMAN, "Arabic": ARABIC, "emoji": EMOJI, "Russian": RUSSIAN, "Japanese": JAPANESE, "Korean": KOREAN}


def error(text: str) -> float:
    """The share by which the estimate is off, against `cl100k_base`."""
    encoding = load_vocabulary("cl100k_base")
    assert encoding is not None
    return estimate_tokens(text) / text_counter(encoding)(text) - 1


@pytest.mark.parametrize("kind", CLOSE)
def test_the_estimate_is_within_a_tenth(kind: str) -> None:
    """English, Chinese, both mixed, code, JSON, ids and numbers are estimated within 10%."""
    assert abs(error(CLOSE[kind])) <= 0.10


@pytest.mark.parametrize("kind", ROUGH)
def test_no_language_is_off_by_a_quarter(kind: str) -> None:
    """Other languages and emoji are estimated within 25%."""
    assert abs(error(ROUGH[kind])) <= 0.25


@pytest.mark.field("C119")
def test_a_mostly_chinese_session_is_not_estimated_at_a_third() -> None:
    """29,000 characters, 40% Chinese and the rest ASCII, are estimated within 10%."""
    parts = [CHINESE * 5, CODE, JSON[:120]]
    text = ("\n".join(parts) * 30)[:29_000]
    assert 0.35 < sum("\u4e00" <= char <= "\u9fff" for char in text) / len(text) < 0.45
    assert abs(error(text)) <= 0.10


@pytest.mark.field("C120")
def test_text_without_spaces_is_not_two_words() -> None:
    """A Chinese paragraph of 1,500 characters without a space has over a thousand tokens."""
    paragraph = (CHINESE.replace("\n", "") * 10)[:1_500]
    assert " " not in paragraph
    assert 1_000 < estimate_tokens(paragraph) < 2_200
    assert abs(error(paragraph)) <= 0.10


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _strings(inner)


def test_real_texts_are_estimated_within_a_tenth(shared_dir: Path) -> None:
    """Every real transcript and policy is estimated within 10%, as its file and as the texts in it."""
    off = {}
    for file in sorted((shared_dir / "field").glob("[pt][or]*/*")):
        raw = file.read_text(encoding="utf-8")[:200_000]
        texts = {file.name: raw}
        if file.suffix in {".json", ".traj"}:
            found = [text for text in _strings(json.loads(file.read_text(encoding="utf-8"))) if len(text) > 60]
            texts[f"{file.name}, its texts"] = "\n".join(found)[:200_000]
        off.update({name: round(error(text), 3) for name, text in texts.items() if len(text) > 1_000})
    assert 20 < len(off)
    assert {} == {name: value for name, value in off.items() if abs(value) > 0.10}


@given(st.text(st.characters(), max_size=200))
def test_an_estimate_lies_between_one_and_the_bytes(text: str) -> None:
    """No text is free, none costs more than its bytes, and lone surrogates do not raise."""
    size = len(text.encode("utf-8", "surrogatepass"))
    assert (0 if not text else 1) <= estimate_tokens(text) <= size


@pytest.mark.parametrize("char", ["a", " ", "=", "中", "\n", "\ud800", "0"])
def test_a_long_run_of_one_character_is_estimated_at_once(char: str) -> None:
    """200,000 equal characters take under a second and do not go below what a token can hold."""
    before = time.perf_counter()
    found = estimate_tokens(char * 200_000)
    assert time.perf_counter() - before < 1
    assert 200_000 // 128 <= found <= 600_000


def test_a_longer_text_is_not_cheaper_by_much() -> None:
    """An estimate of a text is about the sum of the estimates of its halves."""
    for text in CLOSE.values():
        half = len(text) // 2
        assert abs(estimate_tokens(text) - estimate_tokens(text[:half]) - estimate_tokens(text[half:])) <= 4
