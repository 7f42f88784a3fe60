"""The vocabulary of the extractor: units, currencies, products, and the words that name, stress, choose and turn down. English and Chinese."""

from __future__ import annotations

CJK = "\u2e80-\u2fff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
CN = "[零〇○一二两俩三四五六七八九十百千万亿壹贰叁肆伍陆柒捌玖拾佰仟]"
FROM_TWO = "(?:[两俩三四五六七八九十]|[零〇一二两三四五六七八九十百千万亿壹贰叁肆伍陆柒捌玖拾佰仟]{2,6})"

CURRENCY = (
    "(?:USD|EUR|GBP|CNY|RMB|JPY|CHF|AUD|CAD|HKD|SGD|NZD|SEK|NOK|DKK|INR|KRW|TWD|THB|PLN|CZK|HUF|BRL|MXN|ZAR|TRY|ILS|AED|SAR|MYR|IDR|PHP|VND|RUB|BTC)"
)
MONTH = (
    "(?:Jan(?:uary|\\.)?|Feb(?:ruary|\\.)?|Mar(?:ch|\\.)?|Apr(?:il|\\.)?|May|June?|July?|Aug(?:ust|\\.)?|Sept?(?:ember|\\.)?|Oct(?:ober|\\.)?"
    "|Nov(?:ember|\\.)?|Dec(?:ember|\\.)?)"
)
WEEKDAY = "(?:[Mm]onday|[Tt]uesday|[Ww]ednesday|[Tt]hursday|[Ff]riday|[Ss]aturday|[Ss]unday)"
SHORT_WEEKDAY = f"(?:{WEEKDAY}|(?:Mon|Tues?|Wed|Thu(?:rs?)?|Fri|Sat|Sun)\\b\\.?)"
_ONES = "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen"
_TENS = "twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety"
WORD_NUMBER = f"(?i:(?:{_TENS})(?:[- ](?:{_ONES}))?|{_ONES}|(?:one |two |three )?hundred)"
PRODUCTS = (
    "Windows Server|SQL Server|Node(?:\\.js)?|Python|Go|Rust|Ruby|Java|JDK|PostgreSQL|Postgres|MySQL|MariaDB|Redis|MongoDB|SQLite|Elasticsearch"
    "|Kafka|iOS|iPadOS|macOS"
    "|Android|Windows"
    "|Ubuntu|Debian|Fedora|Alpine|CentOS|Firefox|Chrome|Chromium|Safari|Edge|Opera|PHP|Perl|Swift|Kotlin|Scala|TypeScript|Django|Flask|FastAPI"
    "|Rails|React"
    "|Vue|Angular|Svelte|Next\\.js|Spring Boot|Spring|Kubernetes|Terraform|Ansible|Docker|Nginx|Linux|Xcode|Gradle|Maven|CUDA|PyTorch|TensorFlow"
    "|Pandas|NumPy"
    "|OpenSSL|Bootstrap|Electron|Flutter|Laravel|HarmonyOS|鸿蒙|Helm|Istio|Envoy|Grafana|Prometheus|Jenkins|GitLab|GitHub Enterprise|Git|Bash"
    "|Blender|Unity|Unreal|Godot"
    "|Photoshop|Excel|Office|Outlook|WordPress|Drupal|Magento|Odoo|Tomcat|Jetty|Apache|HAProxy|RabbitMQ|Cassandra|ClickHouse|Spark|Flink|Hadoop"
    "|Hive|Airflow|Celery|Gunicorn"
    "|Poetry|Webpack|Vite|Babel|ESLint|Jest|Cypress|Playwright|Selenium|JUnit|Hibernate|MyBatis|Dubbo|Nacos|ZooKeeper|etcd|Consul|Vault|Bazel"
    "|CMake|GCC|Clang|LLVM|glibc|Qt"
    "|OpenCV|FFmpeg|WildFly|Deno|Bun|Elixir|Erlang|Haskell|Lua|Julia|MATLAB|Solidity|Nuxt|Remix|Astro|jQuery|Express|Symfony|Phoenix|Neo4j"
    "|InfluxDB|Keycloak|Traefik|Caddy"
    "|Podman|containerd|Pulumi|Jira|Confluence|Nextcloud|VS Code|IntelliJ|PyCharm|Oracle|DB2|SAP|微信|支付宝|钉钉|飞书|企业微信|MIUI|EMUI|ColorOS"
    "|TLS|OpenJDK"
    "|tvOS|watchOS|visionOS|ChromeOS|RHEL"
)

UNIT = (
    "(?:km²|cm²|m²|m³|kg/m²|kg/m³|g/m²|m³/h|Ω|kΩ|[㎡㎥㎏㎎㎜㎝㎞㎖㏄]"
    "|(?:kg|mg|μg|ug|ng|g|t|mmol|μmol|umol|mol|kWh|kJ|IU|U|ml|mL|L|l|m3)/(?:m2|m3|dL|dl|mL|ml|L|l|kg|g|day|week|hour|h|min|km|ha)\\b"
    "|(?:kg|mg|μg|ug|mcg|g|tonnes?|tons?|lbs?|oz|km/h|km2|km|kms|cm2|cm|mm|nm|m2|m3|m/s|miles?|mi|feet"
    "|foot|ft|inch(?:es)?|yards?|sqm|sq ?ft"
    "|ha|hectares?|acres?|kWh|MWh|GWh|Wh|kW|MW|GW|kVA|kV|mV|mAh|Ah|mA|kHz|MHz|GHz|Hz|rpm|bar|psi|kPa|hPa|MPa|Pa|mmHg|mmol/L|μmol/L|umol/L|mg/L"
    "|mg/dL|mg/kg|g/L|ppm|ppb"
    "|dB|lux|lm|kJ|kcal|cal|kbps|Mbps|Gbps|MB/s|GB/s|KB/s|GiB|MiB|KiB|TiB|GB|MB|KB|kB|TB|PB|l/min|L/min|mph|QPS|qps|TPS|tps|rps|fps|px|dpi|pcs|IU"
    "|ml/h|mL/h|ml|mL|ul|μl|μL|dl"
    "|litres?|liters?|gallons?|cups?|tbsp|tsp|tokens?|units?|N·m|Nm|kN|kWp|kohm|ohms?|mol|mM|nM|U/L|IU/L|cc|fl oz|quarts?|pints?|stone|knots|bpm"
    "|g/km|kg/m3|mg/ml|mg/mL|megapixels?|pixels?|Mbit/s|Gbit/s|kbit/s|bits?|bytes?|inHg|km2|gsm|l|L|m|V|W)\\b)"
)
ZH_MEASURE = (
    "(?:公斤|千克|毫克|微克|克|公吨|吨|斤|公里|千米|毫米|厘米|平方米|平方公里|平方|平米|立方米|立方|米|公顷|亩|毫升|升|千瓦时|度电|千瓦|瓦|伏|兆"
    "|英里|英寸|英尺|寸|海里|节课|课时|毫安时|毫安|千帕|兆帕|帕|大卡|千卡|卡路里|卡|千焦|分贝|流明"
    "|赫兹|兆赫|像素|万像素|磅|盎司|加仑|英亩|尺|丈|字节|兆字节|千字节|立方厘米|转)"
)
ZH_CLASSIFIER = (
    "(?:箱|桌|套|人份|人次|人|个|托|辆|台|张|盒|桶|片|份|件|单|座|株|棵|匹|头|只|间|户|名|位|组|枚|本|册|页|瓶|袋|包|卷|粒|勺|颗|把|支|副|双|根|艘"
    "|架|篇|条|行|字|次|笔|款|期|轮|家|分|门|幅|幢|栋|层|盆|筐|捆|罐|批|场"
    "|碗|杯|盘|壶|串|朵|面|扇|口|起|例|股|车|柜|板|节|段|篮|处|所|班|排|剂|针|滴|丸|帖|集|章|题|首|部|级台阶|单元|趟|步|词|床|袋子|枝|根|员|道|发"
    "|样|匝|块板|亩地|层|辑|期)"
)
ZH_VAGUE_CLASSIFIER = frozenset("个次条层位期轮款家批行字场笔分首道步词题章集部面口处起例节段班排列发样股趟")
"""Counters that, after a Chinese numeral, mostly belong to phrases rather than to counts."""

NOT_COUNTED = frozenset(
    [
        "and",
        "was",
        "were",
        "has",
        "had",
        "this",
        "thus",
        "less",
        "plus",
        "minus",
        "versus",
        "times",
        "per",
        "for",
        "the",
        "that",
        "with",
        "from",
        "into",
        "than",
        "then",
        "are",
        "not",
        "but",
        "you",
        "your",
        "our",
        "its",
        "his",
        "her",
        "she",
        "they",
        "can",
        "will",
        "who",
        "how",
        "all",
        "any",
        "one",
        "two",
        "more",
        "most",
        "some",
        "each",
        "other",
        "others",
        "here",
        "there",
        "when",
        "where",
        "over",
        "under",
        "after",
        "before",
        "between",
        "until",
        "till",
        "about",
        "off",
        "out",
        "only",
        "also",
        "just",
        "too",
        "days",
        "day",
        "hours",
        "hour",
        "weeks",
        "week",
        "months",
        "month",
        "years",
        "year",
        "minutes",
        "minute",
        "seconds",
        "second",
        "percent",
        "percentage",
        "points",
        "point",
        "stars",
        "is",
        "as",
        "us",
        "yes",
        "always",
        "perhaps",
        "does",
        "goes",
        "says",
        "gets",
        "makes",
        "needs",
        "takes",
        "runs",
        "ends",
        "starts",
        "begins",
        "comes",
        "looks",
        "seems",
        "works",
        "means",
        "lies",
        "sits",
        "stands",
        "shows",
        "gives",
        "keeps",
        "lets",
        "puts",
        "calls",
        "pass",
        "news",
        "series",
        "process",
        "address",
        "access",
        "business",
        "status",
        "less",
        "unless",
        "across",
        "towards",
        "works",
        "fails",
        "passes",
        "working",
        "calendar",
        "or",
        "in",
        "on",
        "at",
        "to",
        "of",
        "by",
        "if",
        "so",
        "am",
        "pm",
        "an",
        "be",
        "we",
        "it",
        "bus",
        "gas",
        "class",
        "loss",
        "cross",
        "million",
        "billion",
        "thousand",
        "hundred",
        "dozen",
        "digits",
        "digit",
        "percent",
        "degree",
        "degrees",
        "cents",
        "dollars",
        "euros",
        "pounds",
        "yen",
        "th",
        "st",
        "nd",
        "rd",
    ]
)
IRREGULAR_PLURALS = frozenset(["people", "children", "men", "women", "staff", "sheep", "fish", "mice", "teeth", "feet", "geese", "dice", "data"])

EMPHASIS_WORDS = (
    "(?:(?i:remember|make sure|be sure|keep in mind|bear in mind|don['’]t forget|do not forget|never forget|note that|important|essential|crucial"
    "|key point|vital"
    "|under no circumstances|whatever you do|(?:don['’]t|do not) mix up)|Never |记住|记牢|切记|谨记|务必|一定要|千万|注意|重要|重点|关键|要点|要紧"
    "|别搞错|不要搞错|别忘|不要忘)"
)
CHOICE_WORDS = (
    "(?:不[要用找搞接选做上走买住租坐吃喝去订签加装换采投留请考扩改开办引推]|别[用选买订]|没选|算了|免了|落选|搁置|停用|拒绝|不行|不合适|不再|放弃"
    "|作废|砍掉|淘汰|否掉|否了|否决|毙了|退掉|去掉|弃用|舍弃|出局|排除|暂不|先不|就不|也不|都不|定了|定的是|决定|选择|选定|选了|选中|首选|敲定"
    "|确定|确认|同意|拍板|采用|采纳"
    "|改用|改做|改走|保持|保留|吧|先|还是用|还是选|优先|中标|胜出|为准|统一|一律|全部|主推|就行|就[^是可能会这那不]|[选定用订签走上改换租买]"
    "|[Pp][Aa][Ss][Ss]"
    "|(?i:go(?:ing|ne)? (?:with|for|ahead)|went (?:with|for)|cho(?:o?se|sen|osing) |pick(?:ed|ing)? |select(?:ed)? |decided|settled?\\b|landed on"
    "|opt(?:ed)? for|let['’]s|lets go"
    "|off the table|no longer an option|out of the question|ruled? out|not the |not taking|not going|\\bno |skip|drop(?:ped|ping)?\\b|forget |reject"
    "|scrap|ditch|what we|instead|rather than"
    "|['’]ll (?:take|do|use|have)|will (?:take|use)|(?:is|are) (?:out|dead|off)\\b|approved|prefer|discard|cancell?ed|\\buse |\\busing |\\btake "
    "|it is[.!,;]|\\bwins?\\b|winner|(?:stick|stay|run)(?:n?ing)? with|is the one|gets the|stays\\b|green light|go-ahead"
    "|leave out|cross out|confirmed:|\\byes to|\\bno to|make it|agreed|final answer|decision|verdict|keeping |don['’]t want|want the))"
)
ENDING_WORDS = (
    "(?:(?i:forget|never mind|ignore|disregard|drop|scrap|cancel|scratch|\\boff\\b|no longer|obsolete|\\bvoid\\b|done with|closed|resolved"
    "|withdrawn|moot)"
    "|不用管|不必管|忘了|忘掉|忽略|取消|不考虑|别管|作废|撤销|失效|不需要|关闭|结束|不做数|不算数|不作数)"
)
