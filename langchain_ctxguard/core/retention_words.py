"""Which words say the same: actions and things of working life in English and Chinese, with one name for each. General vocabulary, no item words."""

from __future__ import annotations

from functools import lru_cache

from langchain_ctxguard.core.numerals import words_in

# One line a concept: English words, then Chinese ones. The first word is its name.
_ACTIONS = """
delete deletion remove removal erase erasure wipe purge discard destroy destruction | 删除 删掉 删 移除 清空 清除 抹掉 抹去 擦除 销毁 去掉 去除 删去
drop | 丢弃
cancel cancellation annul | 取消 撤单 撤销 撤回
send sent dispatch deliver forward mail email transmit | 发送 发给 寄 寄出 寄给 寄送 发出 转发 群发 发放 投递 传给 交给 送给 送出 送往 递交
share disclose disclosure reveal divulge leak expose tell told inform notify notification say said communicate give given mention quote state \
announce \
publish show shown display read speak spoken discuss talk | 泄露 透露 披露 告诉 告知 通知 透漏 公布 公开 外泄 说出 报出 念出 念 读出 读 展示 \
显示 出示 提供 谈论 讨论 \
谈 提及 提到 提起 说 讲 转告 知会 说明 报给 给出 提
ask question inquire enquire request query | 询问 问 提问 请示 问问 打听 问到 追问 过问 征求 问过 请教 发问
answer reply respond response | 回答 答复 回复 答 应答 作答 解答
approve approval authorise authorize authorisation authorization consent permission permit agree agreement sanction signoff clearance sign-off | \
批准 审批 同意 授权 许可 \
核准 准许 获批 点头 签批 签字 批复 批 认可
review inspect inspection check verify verification validate validation confirm confirmation examine audit | 审核 审阅 核对 检查 确认 核实 验证 \
查验 复核 审查 校验 \
查看 核查 查 检验 过目 评审 查清 看过 审过
create add addition introduce insert make made generate produce | 新增 创建 添加 新建 增加 加入 生成 引入 加 建立 建 做 制作 开设
change modify edit alter update touch amend adjust revise patch untouched unchanged unaltered unedited unmodified intact | 修改 更改 变更 改动 \
编辑 调整 更新 动 改 改写 改变 触碰 碰 动过
write written wrote spell spelled spelt record log put store save note | 写入 写进 写 记录 记入 登记 记 写到 落入 录入 登录 记下
keep kept retain retention hold held leave left remain stay maintain preserve preservation | 保留 保存 保持 留存 留 留在 停留 维持 存放 留着 留给 存
archive | 归档 存档
encrypt encryption cipher encipher | 加密
anonymise anonymize mask redact blank pseudonymise pseudonymize | 脱敏 遮住 遮盖 打码 匿名 遮 盖住 隐去 抹除 匿名化 遮挡
use usage employ utilise utilize via work | 使用 用 采用 应用 利用 用来 启用 用于 动用
run execute execution perform start launch | 运行 执行 跑 跑完 跑过 启动 开展 进行 实施 做完
stop halt terminate end shut close closure | 停止 停用 关闭 关掉 终止 停 关停 结束 关 停掉
open reopen unseal unlock | 开放 打开 解封 开启 拆封 启封 开门 打开 解锁
seal sealed | 封存 密封 封
restart reboot | 重启 重新启动
deploy deployment release rollout roll ship launch_live live publish_live go-live | 部署 上线 发布 推出 发版 投产 上架
upgrade | 升级
install | 安装 装 装上
downgrade rollback revert | 回滚 降级 回退
push | 推送 推 推到
pull fetch | 拉取 拉
merge | 合并 合入 并入
commit | 提交 交
test testing | 测试 测 试 试验
skip omit bypass leave_out miss circumvent | 跳过 省略 略过 绕过 免去 漏掉 省去 省掉 不做
book reserve reservation booking schedule | 预订 预约 预定 订 安排 约 排 排期 订票
buy purchase order_goods procure acquire | 购买 采购 买 购入 购置
sell sale | 出售 销售 卖 售卖
pay payment paid spend spent budget expenditure cost costs expense | 支付 付款 付 预算 花费 支出 花 花在 开支 费用 房费 开销 花钱 花销 花掉
refund reimburse reimbursement | 退款 退 退还 报销
transfer wire | 转账 汇款 划转 转 转给 转移 转出
charge bill invoice | 收费 开票 计费 收取 扣费
discount rebate reduction | 折扣 打折 优惠 降价 让利
offer provide propose recommend recommendation suggest suggestion advise advice | 推荐 建议 提议 推销 荐 推介
promise guarantee commit_to assure assurance | 承诺 保证 许诺 答应 担保 打包票
call phone ring telephone dial | 打电话 拨打 来电 致电 呼叫 打 拨 通话 去电 外呼
contact reach | 联系 接触
visit enter entry access | 进入 访问 进 出入 入内 进场 入
export download extract copy duplicate | 导出 下载 拷贝 复制 带出 拷 抄
import upload load | 导入 上传
backup | 备份
restore recover | 恢复 还原 复原
move relocate migrate carry | 移动 迁移 搬 搬动 移到 带离 带出去 挪 挪动
label mark tag annotate caption | 标注 标记 注明 标明 标 署名 贴标
attach append enclose include | 附上 附 附带 附加 随附 带上 包含 附在
translate | 翻译 译
sign signature | 签署 签名 签
train | 训练
teach | 教
grade score mark_paper rate | 评分 打分 阅卷 批改 判卷 批阅 评阅
hire employ_person recruit | 雇用 招聘 录用
dismiss fire | 解雇 辞退
diagnose diagnosis | 诊断
prescribe prescription | 处方 开药
vaccinate vaccination vaccine | 接种 疫苗
bake heat cook | 烘烤 加热 烘 烤
clean cleaning wash | 清洗 清洁 打扫 清理 洗
spray apply_chemical | 喷洒 打药 喷药 喷 打过
harvest pick gather | 采摘 采收 收获 摘
ride | 骑 骑乘
lend loan borrow | 借 外借 借出 出借 借阅 带走
return bring_back | 归还 退回 还
freeze block suspend lock | 冻结 封禁 锁定 挂失 停用卡
report escalate | 上报 报告 汇报 报失 举报 报备
respect honor honour obey follow comply | 遵守 遵循 照办 遵照
wait | 等待 等 等到 等满
ensure guarantee_that | 确保
avoid refrain | 避免
replace substitute swap | 替换 更换 换成 换 代替
drain | 排空 疏散 腾空
renew extend prolong | 续期 延长 补发 续签 续 延期 展期 重发
expire lapse valid validity | 失效 过期 到期 有效期 有效
issue grant | 签发 发行 出具 开具
exceed surpass overrun | 超过 超出 超 超支 突破 高于 多于 大于
limit cap ceiling maximum max | 上限 限额 封顶 限制 限 最高 至多 最多 不超
minimum min floor | 下限 最低 至少 最少 起码
count number quantity | 数量 数 个数
carry_people transport | 载人 运载 运送 搭载 乘坐
load_unload | 装卸
feed | 喂 喂食 投喂
eat | 吃
drink | 喝
smoke smoking | 吸烟 抽烟
wear | 佩戴 穿 戴
measure measurement | 测量 量
read_meter | 抄表
photograph photo picture image shoot | 拍照 照片 拍摄 图片 拍 相片
format formatting | 格式化 格式
convert conversion | 转换 换算
compress | 压缩
compare | 比较 对比
count_up sum total | 合计 总计 总额 总
submit file_in | 递交 上交 提出
sort order_by | 排序
connect connection | 连接 接入
expose_port | 暴露
disable deactivate | 禁用
enable activate | 激活
refer referral | 转诊 转介 引导
"""

_THINGS = """
order orders | 订单 单子
customer client buyer shopper purchaser consumer | 客户 顾客 买家 消费者 客人
user | 用户
employee staff worker colleague personnel | 员工 职员 雇员 工作人员 同事 职工
manager supervisor superior | 经理 主管 领导 上司 上级 负责人
lead head chief director | 主任 组长 总监 负责人士 主管人员
administrator admin | 管理员
patient | 患者 病人 病患
doctor physician | 医生 就医 大夫 医师 看医生
nurse | 护士
relative relatives family kin | 家属 亲属 家人 家庭 家里人
child children minor underage kid | 儿童 未成年 未成年人 小孩 孩子
student pupil | 学生
teacher | 老师 教师
parent | 家长 父母
applicant candidate | 应聘者 求职者 候选人
guest visitor | 嘉宾 访客 来宾 宾客
tenant | 租客 租户 房客
landlord owner | 房东 业主
lawyer counsel attorney legal | 律师 法务
court judge | 法院 法庭
press media reporter journalist newspaper | 媒体 记者 新闻界
public_domain | 公众
competitor rival competition | 竞争对手 竞品 对手
supplier vendor | 供应商 供货商
partner | 合伙人 合作伙伴
third-party outsider third_parties | 第三方 外人 外部人员
company firm enterprise | 公司 企业 本公司
department team | 部门 团队
bank | 银行
account | 账户 账号 帐户 账户 户头
card | 卡 银行卡 信用卡 卡片
card_number | 卡号
password passcode secret secrets credential credentials key token_secret | 密码 密钥 凭证 口令 密匙 秘钥 凭据
code one-time | 验证码
personal_id identity identification passport id | 身份证 证件 护照
phone_number telephone_number | 电话号码 手机号 号码 手机号码
address | 地址
name | 姓名 名字 名称
data | 数据 资料
information info detail details | 信息 情况
record recording | 录音 记录档
file document paper | 文件 文档 卷子 试卷
contract agreement_doc | 合同
draft | 草案 草稿
invoice_doc | 发票
letter | 信件 信
message sms text | 短信 消息
email_doc mails | 邮件 电邮
telephone | 电话
complaint | 投诉
comment | 评论 评论区
report_doc reports | 报表
summary | 摘要
minutes | 纪要
meeting | 会议
salary wage pay_band compensation | 薪资 工资 薪水 薪酬 收入
price | 价格 售价
purchase_price | 进价 采购价 成本价
amount sum_money | 金额
cost_item fee | 费
money | 钱
tax | 税
interest | 利息
loan_product credit | 贷款
stock inventory | 库存 存货
share_stock equities | 股票 个股
fund | 基金
account_balance balance | 余额
zero nil | 零
voucher coupon | 优惠券 代金券 券
gift | 礼品 礼物 赠品
parcel package shipment | 包裹
courier carrier | 快递 承运
warehouse depot | 仓库 库房
delivery | 配送 送货 到货 交货
date day_of | 日期
deadline due | 截止 期限 截止日
time hour_of | 时间
night evening nighttime | 夜间 晚上 夜里 夜晚 晚间 每晚 一晚 晚
morning | 早上 上午 早晨
afternoon | 下午
weekend weekends | 周末
holiday | 节假日 假日
day_unit daily | 每天 每日 天天
week weekly | 每周
month monthly | 月份 每月 每个月
year yearly annual annually | 每年
environment | 环境
server host machine | 服务器 主机
database db | 数据库 库
table schema | 表 表结构
service | 服务
system | 系统
network | 网络 公网 外网
port | 端口
interface api endpoint | 接口 端点
gateway | 网关
timeout | 超时 超时时间
branch | 分支
code_base code_text source | 代码
script | 脚本
dependency dependencies library | 依赖
version | 版本
mirror image_container | 镜像
backup_copy replica copies | 副本
region area zone | 区域 地域 地区
node | 节点
log_file logs | 日志
ticket | 工单
alert alarm | 告警 警报
incident outage | 故障 事故
test_suite suite | 用例 测试集
smoke_test | 冒烟测试
error bug | 错误 缺陷
whole entire full complete all | 全部 完整 全 整个 所有 整 全体 全都 统统
written in_writing | 书面
prior advance beforehand | 事先 提前 预先 事前
immediate immediately instantly once_at promptly straight | 立即 立刻 马上 及时 当即 直接
directly | 直接地
manual manually hand_made | 手工 人工 手动
sensitive confidential confidentiality private privacy | 敏感 机密 保密 隐私
medicine drug medication | 药 药物 药品
antibiotic antibiotics | 抗生素
allergy allergic | 过敏
dose dosage intake | 剂量 用量
result outcome | 结果
diagnosis_text finding conclusion | 结论
exam | 考试
homework essay | 作业 作文
answer_key solution | 答案
hint tip | 提示
deadline_date | 截止日期
hotel lodging accommodation room | 酒店 住宿 宾馆 旅馆
flight airfare ticket_air fare | 机票 航班
train_ride train_ticket | 火车
non-refundable nonrefundable | 不可退改 不退不改
country | 国家
customs | 海关
language | 语言
number_text figure figures | 数字
currency | 货币
house_home home | 住宅
house | 房屋
key_door keys | 钥匙
meter_device | 电表
elevator lift | 电梯
maintenance upkeep servicing | 维保 维护 维修 保养
pesticide | 农药
book | 书 图书
rare | 罕见 珍稀
venue hall | 馆内 场馆
exhibit exhibition | 展品
marketing promotional promotion | 营销 推广
advert ad ads advertising advertisement | 广告
unsubscribe opt-out opted | 退订 已退订
website site | 网站
agreement_terms terms clause | 条款
lawsuit litigation | 诉讼
religion religious faith | 宗教 宗教信仰
marriage marital | 婚姻 婚育 婚育情况
family_plans planning plans | 生育
outside external abroad | 以外 外部 境外 外面 外
inside within internal | 以内 内部 内 境内 里面 里
above over | 以上
below under beneath | 以下
before until ahead prior_to earlier_than | 之前 以前 前
after following later | 之后 以后 后
every each per | 每 每个 每次 每一次 每笔 每张 每条 每位
other else | 其他 其它 别的
new | 新
old | 旧
pending open_case unresolved | 未决 未了结
same identical | 同一 相同 一样
two_people double second twofold | 双人 两人 二次
limit_word threshold | 阈值
rule policy | 规则 规定
emergency urgent | 紧急 急诊
zero_balance_empty empty | 空
"""

# In one line each: a rule that names one of them is changed when another of the line stands in its place.
_ALTERNATIVES = """
portuguese 葡萄牙语 葡语 / polish 波兰语 / english 英语 英文 / chinese 中文 汉语 / german 德语 德文 / french 法语 法文 / spanish 西班牙语 西语 / \
italian 意大利语 / japanese 日语 日文 / \
korean 韩语 韩文 / russian 俄语 俄文 / dutch 荷兰语 / arabic 阿拉伯语 / turkish 土耳其语 / swedish 瑞典语 / cantonese 粤语 / mandarin 普通话
monday 周一 星期一 / tuesday 周二 星期二 / wednesday 周三 星期三 / thursday 周四 星期四 / friday 周五 星期五 / saturday 周六 星期六 / sunday \
周日 星期日 星期天 周天
red 红色 / blue 蓝色 / green 绿色 / yellow 黄色 / black 黑色 / white 白色 / grey gray 灰色 / orange 橙色 / purple 紫色
january / february / march / april / june / july / august / september / october / november / december
eur euro euros 欧元 / usd dollar dollars 美元 美金 / gbp pound pounds 英镑 / cny rmb yuan 人民币 / hkd 港币 港元 / jpy yen 日元 / chf franc \
francs 瑞士法郎 法郎 瑞郎
north northern 北方 / south southern 南方
frankfurt 法兰克福 / dublin 都柏林 / london 伦敦 / paris 巴黎 / berlin 柏林 / tokyo 东京 / beijing 北京 / shanghai 上海 / singapore 新加坡 / \
shenzhen 深圳 / zurich 苏黎世 / vienna 维也纳
pnpm / npm / yarn / bun
production prod 生产环境 线上 生产 线上环境 / staging 预发 预发布 预发环境
"""

_ENDINGS = (("ies", "y"), ("ied", "y"), ("sses", "ss"), ("xes", "x"), ("ches", "ch"), ("shes", "sh"))
_SHORTEST_STEM = 3

STOP_WORDS = words_in(
    """a an the this that these those it its they them their theirs he she his her him hers we us our ours you your yours i me my mine is are
    was were be been being am do does did done doing has have had having will would shall should may might can could must ought need needs
    needed to of in on at by for from with into onto upon about as and or nor but if so than then there here when where which who whom
    whose what how not no never none nobody nothing neither only just also too very any some such own same_way both either more most less
    least much many few always ever still again now up out off down through between during against because since while whatever whenever
    whoever unless except without agent assistant bot ai please make sure get got let one ones someone anyone everyone somebody anybody
    everybody yes ok okay fine circumstances case cases way allowed permitted forbidden prohibited required requirement necessary optional
    long however well back whether instead rather"""
)

ZH_STOP_WORDS = words_in(
    """的 地 得 了 着 过 是 在 和 与 及 或 或者 并 并且 以及 而 而且 也 都 就 才 还 再 又 很 更 最 把 被 将 对 对于 向 给 为 为了 以 由 从 到
    于 跟 同 让 使 令 请 所 之 其 该 此 这 那 这个 那个 这些 那些 它 他 她 他们 她们 我 我们 你 你们 您 自己 本 某 任何 任何人 任何情况下
    一切 一律 一概 均 皆 各 等 时 时候 的时候 中 上 下 内容 情况下 有 没有 无 非 不 没 未 未经 已 已经 曾 曾经 必须 务必 须 需 需要 要 应
    应该 应当 得以 可 可以 能 能够 会 不得 禁止 严禁 不许 不准 不可 不能 不要 切勿 请勿 勿 绝不 绝 决不 绝对 不允许 允许 准许 许 准 禁
    一定 只 只能 只有 仅 仅限 只可 方可 才能 才可 才可以 最好 尽量 尽可能 建议性 如 如果 若 假如 的话 除 除非 除外 除了 例外 否则 因为
    因此 所以 但 但是 不过 然后 助手 客服 机器人 先 事 事情 东西 者 人 们 吧 吗 呢 啊 一下 一般 起 来 去 进行 予以 加以 关于 有关 相关
    涉及 就是 还是 现在 目前 今天 这里 那里 每当 凡 凡是 所有 其中 只要 无论 不论 不管 经 经过 通过 按 按照 根据 照 随意 照样 照常 不必
    不用 无需 无须 不需要 不再 小心 谨慎 注意 保护 要求"""
)


def _stem(word: str) -> str:
    """Return an English word without its inflection; good enough to find it again.

    >>> [_stem(word) for word in ("deleting", "deleted", "orders", "policies", "stopped")]
    ['delet', 'delet', 'order', 'policy', 'stop']
    """
    if len(word) <= _SHORTEST_STEM or not word.isascii():
        return word
    for ending, instead in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_STEM - 1:
            return word[: -len(ending)] + instead
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for ending in ("ing", "ed"):
        root = word[: -len(ending)]
        if word.endswith(ending) and len(root) >= _SHORTEST_STEM and any(vowel in root for vowel in "aeiouy"):
            word = root[:-1] if root[-1] == root[-2] and root[-1] not in "lsz" and len(root) > _SHORTEST_STEM else root
            break
    return word.removesuffix("e") if len(word) > _SHORTEST_STEM else word


def _table(text: str, mark: str) -> dict[str, str]:
    names: dict[str, str] = {}
    for line in text.strip().splitlines():
        english, _, chinese = line.partition("|")
        words = english.split()
        for word in words:
            names.setdefault(_stem(word), mark + words[0])
        for word in chinese.split():
            names.setdefault(word, mark + words[0])
    return names


def _alternatives() -> tuple[dict[str, str], dict[str, int]]:
    names: dict[str, str] = {}
    lines: dict[str, int] = {}
    for number, line in enumerate(_ALTERNATIVES.strip().splitlines()):
        for group in line.split("/"):
            words = group.split()
            lines["=" + words[0]] = number
            names.update({_stem(word): "=" + words[0] for word in words})
    return names, lines


_BY_ALTERNATIVE, _LINES = _alternatives()
# An action before a thing, and before both what stands for exactly one of several.
_CONCEPTS: dict[str, str] = {**_table(_THINGS, "#"), **_table(_ACTIONS, "!"), **_BY_ALTERNATIVE}
_HAN_WORDS: dict[str, str | None] = {
    **dict.fromkeys(ZH_STOP_WORDS),
    **{word: name for word, name in _CONCEPTS.items() if not word.isascii()},
}
LONGEST_HAN = max(map(len, _HAN_WORDS))


@lru_cache(maxsize=20_000)
def concept_of(word: str) -> str | None:
    """Return the name all words of one meaning share; a word of its own stands for itself, a function word for nothing."""
    if word in STOP_WORDS:
        return None
    stem = _stem(word)
    return _CONCEPTS.get(stem, stem)


def meaning_of(word: str) -> str | None:
    """Return the concept of one word in either language."""
    return concept_of(word) if word.isascii() else _HAN_WORDS.get(word)


def han_words() -> dict[str, str | None]:
    """Return the Chinese words that are known, each with its concept, function words with `None`."""
    return _HAN_WORDS


def is_action(concept: str) -> bool:
    """Say whether a concept is something one does."""
    return concept.startswith("!")


def alternatives_line(concept: str) -> int | None:
    """Return the number of the closed set a concept is one of (languages, currencies, weekdays), or `None`."""
    return _LINES.get(concept)
