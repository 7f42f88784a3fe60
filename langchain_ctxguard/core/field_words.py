"""The vocabulary of the extractor: units, currencies, products, and the words that name, stress, choose and turn down. English and Chinese."""

from __future__ import annotations

CJK = "\u2e80-\u2fff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
CN = "[零〇○一二两俩三四五六七八九十百千万亿壹贰叁肆伍陆柒捌玖拾佰仟]"
FROM_TWO = "(?:[两俩三四五六七八九十]|[零〇一二两三四五六七八九十百千万亿壹贰叁肆伍陆柒捌玖拾佰仟]{2,6})"

CURRENCY = "(?:USD|EUR|GBP|CNY|RMB|JPY|CHF|AUD|CAD|HKD|SGD|NZD|SEK|NOK|DKK|INR|KRW|TWD|THB|PLN|CZK|HUF|BRL|MXN|ZAR|TRY|ILS|AED|SAR|MYR|IDR|PHP|VND|RUB|BTC)"
MONTH = "(?:Jan(?:uary|\\.)?|Feb(?:ruary|\\.)?|Mar(?:ch|\\.)?|Apr(?:il|\\.)?|May|June?|July?|Aug(?:ust|\\.)?|Sept?(?:ember|\\.)?|Oct(?:ober|\\.)?|Nov(?:ember|\\.)?|Dec(?:ember|\\.)?)"
WEEKDAY = "(?:[Mm]onday|[Tt]uesday|[Ww]ednesday|[Tt]hursday|[Ff]riday|[Ss]aturday|[Ss]unday)"
_ONES = "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen"
_TENS = "twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety"
WORD_NUMBER = f"(?i:(?:{_TENS})(?:[- ](?:{_ONES}))?|{_ONES}|(?:one |two |three )?hundred)"
PRODUCTS = (
    "Node(?:\\.js)?|Python|Go|Rust|Ruby|Java|JDK|PostgreSQL|Postgres|MySQL|MariaDB|Redis|MongoDB|SQLite|Elasticsearch|Kafka|iOS|iPadOS|macOS|Android|Windows"
    "|Ubuntu|Debian|Fedora|Alpine|CentOS|Firefox|Chrome|Chromium|Safari|Edge|Opera|PHP|Perl|Swift|Kotlin|Scala|TypeScript|Django|Flask|FastAPI|Rails|React"
    "|Vue|Angular|Svelte|Next\\.js|Spring Boot|Spring|Kubernetes|Terraform|Ansible|Docker|Nginx|Linux|Xcode|Gradle|Maven|CUDA|PyTorch|TensorFlow|Pandas|NumPy"
    "|OpenSSL|Bootstrap|Electron|Flutter|Laravel|HarmonyOS|鸿蒙"
)

UNIT = (
    "(?:(?:kg|mg|μg|ug|mcg|g|tonnes?|tons?|lbs?|oz|km/h|km2|km|kms|cm2|cm|mm|nm|m2|m3|m/s|miles?|mi|feet|foot|ft|inch(?:es)?|yards?|sqm|sq ?ft"
    "|ha|hectares?|acres?|kWh|MWh|GWh|Wh|kW|MW|GW|kVA|kV|mV|mAh|Ah|mA|kHz|MHz|GHz|Hz|rpm|bar|psi|kPa|hPa|MPa|Pa|mmHg|mmol/L|μmol/L|umol/L|mg/L|mg/dL|mg/kg|g/L|ppm|ppb"
    "|dB|lux|lm|kJ|kcal|cal|kbps|Mbps|Gbps|MB/s|GB/s|KB/s|GiB|MiB|KiB|TiB|GB|MB|KB|kB|TB|PB|l/min|L/min|mph|QPS|qps|TPS|tps|rps|fps|px|dpi|pcs|IU|ml/h|mL/h|ml|mL|ul|μl|μL|dl"
    "|litres?|liters?|gallons?|cups?|tbsp|tsp|tokens?|units?|N·m|Nm|l|L|m|V|W)\\b|km²|cm²|m²|m³)"
)
ZH_MEASURE = (
    "(?:公斤|千克|毫克|微克|克|公吨|吨|斤|公里|千米|毫米|厘米|平方米|平方公里|平方|平米|立方米|立方|米|公顷|亩|毫升|升|千瓦时|度电|千瓦|瓦|伏|兆|英里|英寸|英尺|寸|海里|节课|课时)"
)
ZH_CLASSIFIER = (
    "(?:箱|桌|套|人份|人次|人|个|托|辆|台|张|盒|桶|片|份|件|单|座|株|棵|匹|头|只|间|户|名|位|组|枚|本|册|页|瓶|袋|包|卷|粒|勺|颗|把|支|副|双|根|艘|架|篇|条|行|字|次|笔|款|期|轮|家|分|门|幅|幢|栋|层|盆|筐|捆|罐|听|打|批|场)"
)
ZH_VAGUE_CLASSIFIER = frozenset("个次条层位期轮款家批行字场笔分")
"""Counters that, after a Chinese numeral, mostly belong to phrases rather than to counts."""

NOT_COUNTED = frozenset(
    "and was were has had this thus less plus minus versus times per for the that with from into than then are not but you your our its his her she they can will "
    "who how all any one two more most some each other others here there when where over under after before between until till about off out only also just too "
    "days day hours hour weeks week months month years year minutes minute seconds second percent percentage points point stars is as us yes always perhaps does goes "
    "says gets makes needs takes runs ends starts begins comes looks seems works means lies sits stands shows gives keeps lets puts calls pass news series process address "
    "access business status less unless across towards works fails passes working calendar or in on at to of by if so am pm an be we it bus gas class loss cross "
    "million billion thousand hundred dozen digits digit percent degree degrees cents dollars euros pounds yen th st nd rd".split()
)
IRREGULAR_PLURALS = frozenset("people children men women staff sheep fish mice teeth feet geese dice data".split())

EMPHASIS_WORDS = (
    "(?:(?i:remember|make sure|be sure|keep in mind|bear in mind|don['’]t forget|do not forget|never forget|note that|important|essential|crucial|key point|vital"
    "|under no circumstances|whatever you do|(?:don['’]t|do not) mix up)|Never |记住|记牢|切记|谨记|务必|一定要|千万|注意|重要|重点|关键|要点|要紧|别搞错|不要搞错|别忘|不要忘)"
)
CHOICE_WORDS = (
    "(?:不要|不用|不找|不搞|不接|不选|不考虑|不做|不上|不走|放弃|作废|砍掉|淘汰|否掉|否决|去掉|弃用|舍弃|出局|排除|暂不|先不|就不|也不|都不|就用|就选|就订|就签|就吃|就按|就定|就要|就做|就走|就去|就住|就买|就上"
    "|定了|决定|选择|选定|选了|选中|敲定|确定|确认|拍板|采用|采纳|改用|改做|改走|保持|保留|吧|还是用|还是选|优先"
    "|(?i:go(?:ing|ne)? (?:with|for)|went (?:with|for)|cho(?:ose|se|sen) |pick(?:ed)? |select(?:ed)? |(?:decided|settled?|landed) on|opt(?:ed)? for|let['’]s|lets go"
    "|off the table|no longer an option|out of the question|ruled? out|not the |not taking|not going|\\bno |skip |drop |forget |reject|scrap|ditch|instead of"
    "|['’]ll (?:take|do|use|have)|will (?:take|use)|is out\\b|approved|preferred?|discard))"
)
