"""A later value ends the earlier one of the same thing, and a value of another thing ends nothing."""

from __future__ import annotations

import time

import pytest
from langchain_core.messages import HumanMessage

from langchain_ctxguard import compact_messages
from langchain_ctxguard.core.field_matter import is_named, is_of_another, matter_at, named_with, names_nothing_else, stems_of
from langchain_ctxguard.core.ledger import update_ledger
from langchain_ctxguard.core.roles import text_of
from langchain_ctxguard.domain.control import ControlField

ENDS = [
    # first statement, what is said later, the value that holds no longer
    ("The weekly report goes out on Friday.", "Change: the weekly report goes out on Tuesday from now on.", "Friday"),
    ("Piano lesson for the kids is Tuesday.", "The piano lesson got moved to Friday.", "Tuesday"),
    (
        "The billing API base URL is https://bill.thistle.example.",
        "FYI the billing API was moved, its base URL is now https://b.thistle.example/v4.",
        "https://bill.thistle.example",
    ),
    ("Deliveries for the north store arrive on Monday.", "Deliveries for the north store have been moved to Wednesday.", "Monday"),
    ("Deliveries for the north store arrive on Monday.", "The north store's delivery was moved to Wednesday.", "Monday"),
    ("The hotel budget is $300.", "The hotel budget went up to $450.", "$300"),
    ("The hotel budget is $300.", "Make that $450.", "$300"),
    ("Dinner with the Larsens is on June 3.", "We moved it to June 10.", "June 3"),
    ("The tasting is on March 3 and the dinner on March 5.", "The tasting has moved to March 10.", "March 3"),
    ("The tasting is on March 3 and the dinner on March 5.", "The dinner has moved to March 10.", "March 5"),
    ("Swim practice starts at 6:30 am.", "Swim practice now starts at 7:15 am.", "6:30 am"),
    ("Call the plumber at +49 40 5550 7781.", "The plumber's number changed to +49 40 5550 9912.", "+49 40 5550 7781"),
    ("The parents' newsletter is sent from news@lark.example.", "The newsletter moved to letters@lark.example.", "news@lark.example"),
    ("The choir needs 24 chairs.", "The choir needs 30 chairs now.", "24 chairs"),
    ("For the north store the deadline is May 3.", "For the north store the deadline is now May 9.", "May 3"),
    ("The budget for the trip is $2,000.", "Change the budget for the trip to $2,400.", "$2,000"),
    ("The deadline is June 30, please tell Ana.", "The deadline is now July 15 because the printer is late.", "June 30"),
    ("The vault code is KX-8101.", "Correction: the vault code is PL-4420.", "KX-8101"),
    ("The warehouse in Leeds opens at 8 am.", "The warehouse in Leeds now opens at 9 am.", "8 am"),
    ("The staging server is 10.0.0.5.", "The staging server is now 10.0.0.9.", "10.0.0.5"),
    ("The team standup is at 9:15 every day.", "Standup moved to 9:45, the room is taken before.", "9:15"),
    ("Our flight leaves at 14:20.", "The airline rescheduled our flight to 16:05.", "14:20"),
    ("The wedding is on 12 September 2026.", "Big news: we're moving the wedding to 19 September 2026.", "12 September 2026"),
    ("The catering quote is €4,200.", "The catering quote went up to €4,650 after they added dessert.", "€4,200"),
    ("My dentist appointment is on May 4.", "The dentist had to reschedule, my appointment is now on May 11.", "May 4"),
    ("Invoices go to accounts@fern.example.", "Invoices should now go to ledger@fern.example.", "accounts@fern.example"),
    ("The support line is +44 20 7946 0018.", "The support line changed, it's +44 20 7946 0077 now.", "+44 20 7946 0018"),
    ("The docs live at https://docs.fern.example/v1.", "The docs have moved to https://docs.fern.example/v2.", "https://docs.fern.example/v1"),
    ("We ordered 120 tiles for the bathroom.", "Make that 140 tiles.", "120 tiles"),
    ("The lab freezer is set to -20°C.", "Set the lab freezer to -25°C from now on.", "-20°C"),
    ("Rehearsal is on Thursday.", "Rehearsal has been pushed to Friday because the hall is booked.", "Thursday"),
    ("The grant proposal is due March 1.", "The foundation extended the grant proposal to March 15.", "March 1"),
    ("Our database runs on 10.1.0.4.", "We migrated, the database is now at 10.1.0.9.", "10.1.0.4"),
    ("The monthly fee for the gym is $40.", "The gym raised its monthly fee to $45.", "$40"),
    ("Book the table for 7:30 pm.", "Actually book the table for 8 pm instead.", "7:30 pm"),
    ("The conference is on October 5, and my talk is on October 6.", "My talk has been moved to October 7.", "October 6"),
    ("Piano lesson is Tuesday.", "Move the Tuesday lesson to Friday.", "Tuesday"),
    ("The phase 2 budget is $300.", "The phase 2 budget is now $450.", "$300"),
    ("The June invoice is $300.", "The June invoice went up to $350.", "$300"),
    ("Unit 4 pays a rent of $800.", "Rent for unit 4 went up to $850.", "$800"),
    ("The rent is $800.", "The landlord raised the rent to $850.", "$800"),
    ("The plumber comes on Thursday.", "The plumber can only come on Friday now.", "Thursday"),
    ("The train to Graz leaves at 9:10.", "Track works: the train to Graz now leaves at 9:40.", "9:10"),
    ("Total guests: 80 people.", "We're now at 95 people.", "80 people"),
    ("The API rate limit is 100 requests per minute.", "They raised the rate limit to 150 requests per minute.", "100 requests"),
    ("Rent for unit 4 is $800.", "Unit 4's rent is now $850.", "$800"),
    ("Budget for marketing: $10k", "Budget for marketing: $12k", "$10k"),
    ("The interview with Mara is on May 4.", "Mara asked to move her interview to May 6.", "May 4"),
    ("周报周五发。", "周报改到周二发。", "周五"),
    ("北店周一送货。", "北店改到周三送货。", "周一"),
    ("酒店预算3000元。", "酒店预算改成4500元。", "3000元"),
    ("酒店预算3000元。", "改成4500元吧。", "3000元"),
    ("孩子的钢琴课在6月3日。", "钢琴课改到6月10日了。", "6月3日"),
    ("物业的电话是13912345678。", "物业的电话换成13987654321了。", "13912345678"),
    (
        "测试环境接口地址是https://test.qinglan.example/api。",
        "测试环境接口地址改为https://test2.qinglan.example/api。",
        "https://test.qinglan.example/api",
    ),
    ("评审会定在3月3日。", "评审会因为场地原因推迟到3月10日。", "3月3日"),
    ("大门密码AB-1200。", "大门密码改成CD-3400。", "AB-1200"),
    ("合唱团要24把椅子。", "合唱团改成30把椅子。", "24把"),
    ("二号楼的租金是8000元。", "二号楼的租金涨到9000元。", "8000元"),
    ("年会定在12月20日。", "年会改到12月27日了。", "12月20日"),
    ("牙医约在5月4日。", "牙医那边改到5月11日了。", "5月4日"),
    ("客服电话是400-820-1234。", "客服电话换成400-820-9876了。", "400-820-1234"),
    ("订了120块瓷砖。", "改成140块吧。", "120块"),
    ("文档地址是https://docs.song.example/v1。", "文档搬家了，地址改成https://docs.song.example/v2。", "https://docs.song.example/v1"),
    ("钢琴课在周一。", "把周一的课改到周三。", "周一"),
    ("体检约在5月4日。", "体检改约到5月6日。", "5月4日"),
    ("装修预算10万元。", "装修预算追加到12万元。", "10万元"),
    ("火车9:10开。", "火车晚点，改成9:40开。", "9:10"),
    ("宾客80人。", "现在改成95人了。", "80人"),
    ("面试在5月4日。", "面试时间调整到5月6日。", "5月4日"),
]

HOLDS = [
    # first statement, what is said later, the value that still holds
    ("The weekly report goes out on Friday.", "Change: the monthly report goes out on a Tuesday from now on.", "Friday"),
    ("Piano lesson for the kids is Tuesday.", "Swimming for the kids got moved to Friday.", "Tuesday"),
    ("Piano lesson for the kids is Tuesday.", "Swimming lesson for the kids is Friday.", "Tuesday"),
    (
        "The billing API base URL is https://bill.thistle.example.",
        "FYI the search API was moved, its base URL is now https://s.thistle.example/v3.",
        "https://bill.thistle.example",
    ),
    ("Deliveries for the north store arrive on Monday.", "Deliveries for the south store have been moved to Wednesday.", "Monday"),
    ("The hotel budget is $300.", "The flight budget went up to $450.", "$300"),
    ("The hotel costs $300.", "The flight went up to $450.", "$300"),
    ("The hotel budget is $300. The flight budget is $400.", "Make that $450.", "$300"),
    ("The hotel budget is $300. The flight budget is $400.", "Make that $450.", "$400"),
    ("Our budget is $2,000 for the whole trip.", "The flight budget went up to $450.", "$2,000"),
    ("For the north store the deadline is May 3.", "For the south store the deadline is May 9.", "May 3"),
    ("For the north store the deadline is May 3.", "For the south store the deadline is now May 9.", "May 3"),
    ("Ana's rent is $800.", "Ben's rent is now $900.", "$800"),
    ("The price at the Hilton is $200.", "The price at the Ibis is now $90.", "$200"),
    ("The rent for unit 4 is $800.", "The rent for unit 7 went up to $900.", "$800"),
    ("Store A opens at 8 am.", "Store B now opens at 9 am.", "8 am"),
    ("Call the plumber at +49 40 5550 7781.", "The electrician's number changed to +49 40 5550 9912.", "+49 40 5550 7781"),
    ("The newsletter is sent from news@lark.example.", "Invoices are now sent from billing@lark.example.", "news@lark.example"),
    ("The choir needs 24 chairs.", "The orchestra needs 30 chairs now.", "24 chairs"),
    ("The gate code of the north store is KX-8101.", "The gate code of the south store is PL-4420.", "KX-8101"),
    ("Project Alpha's codename is OAK-12.", "Project Beta's codename is ELM-40.", "OAK-12"),
    ("The staging server is 10.0.0.5.", "The production server is now 10.0.0.9.", "10.0.0.5"),
    ("The talk is on June 3.", "The club wrote about the swimming, it is on June 9 now.", "June 3"),
    ("Choir practice is on Tuesday.", "The swimming has a new slot, we moved it to Friday.", "Tuesday"),
    ("The hotel budget is $300.", "Never mind the flight budget.", "$300"),
    ("The hotel deadline is May 3.", "The flight deadline has been cancelled.", "May 3"),
    ("The team standup is at 9:15 every day.", "The design review moved to 9:45.", "9:15"),
    ("Our flight leaves at 14:20.", "The return flight was rescheduled to 16:05.", "14:20"),
    ("Our flight to Oslo leaves at 14:20.", "The flight to Bergen was rescheduled to 16:05.", "14:20"),
    ("The wedding is on 12 September 2026.", "We're moving the engagement party to 19 July 2026.", "12 September 2026"),
    ("The catering quote is €4,200.", "The florist's quote went up to €1,650.", "€4,200"),
    ("My dentist appointment is on May 4.", "My daughter's dentist appointment is now on May 11.", "May 4"),
    ("Invoices go to accounts@fern.example.", "Job applications should now go to jobs@fern.example.", "accounts@fern.example"),
    ("The support line is +44 20 7946 0018.", "The sales line changed, it's +44 20 7946 0077 now.", "+44 20 7946 0018"),
    ("The docs live at https://docs.fern.example/v1.", "The status page has moved to https://status.fern.example.", "https://docs.fern.example/v1"),
    ("We ordered 120 tiles for the bathroom.", "For the kitchen it's now 80 tiles.", "120 tiles"),
    ("The lab freezer is set to -20°C.", "Set the fridge to 5°C from now on.", "-20°C"),
    ("Rehearsal is on Thursday.", "The premiere has been pushed to Friday.", "Thursday"),
    ("The grant proposal is due March 1.", "The progress report is now due March 15.", "March 1"),
    ("Our database runs on 10.1.0.4.", "We migrated the cache, it is now at 10.1.0.9.", "10.1.0.4"),
    ("The monthly fee for the gym is $40.", "The yoga studio raised its monthly fee to $45.", "$40"),
    ("The conference is on October 5, and my talk is on October 6.", "My talk has been moved to October 7.", "October 5"),
    ("The morning shift starts at 6 am.", "The evening shift now starts at 3 pm.", "6 am"),
    ("The morning shift starts at 6:00.", "From Monday, the evening shift will start at 15:00 instead.", "6:00"),
    ("Rent for the office is $2,000.", "Rent for the warehouse is $3,000.", "$2,000"),
    ("The deposit for the red van is $500.", "The deposit for the blue van is now $700.", "$500"),
    ("Class 3B has its exam on June 3.", "Class 4B had its exam moved to June 9.", "June 3"),
    ("Line 1 needs 40 bolts.", "Line 2 needs 60 bolts now.", "40 bolts"),
    ("The discount for members is 10%.", "The discount for students went up to 15%.", "10%"),
    ("The error rate on checkout is 2%.", "The error rate on login rose to 5%.", "2%"),
    ("Pick up Lena at 3 pm.", "Pick up Tom at 4 pm instead of 5 pm.", "3 pm"),
    ("Ship the samples to lab@north.example.", "The invoices go to pay@north.example now.", "lab@north.example"),
    ("The timeout for uploads is 30 seconds.", "The timeout for downloads is now 90 seconds.", "30 seconds"),
    ("The warranty on the washer is 12 months.", "The warranty on the dryer is 24 months.", "12 months"),
    ("Mum's birthday dinner is on May 4.", "Dad's birthday dinner moved to May 9.", "May 4"),
    ("The phase 2 budget is $300.", "The phase 3 budget is now $450.", "$300"),
    ("The Monday class is at 5 pm.", "The Wednesday class moved to 6 pm.", "5 pm"),
    ("The June invoice is $300.", "The July invoice went up to $350.", "$300"),
    ("The first draft is due May 3.", "The second draft is now due May 9.", "May 3"),
    ("The deadline for the talk is June 30.", "The other deadline moved to July 4.", "June 30"),
    ("Gate code KX-8101 is for the north yard.", "The gate code for the south yard is now PL-4420.", "KX-8101"),
    ("The rent is $800.", "The landlord raised the deposit to $950.", "$800"),
    ("The plumber comes on Thursday.", "The electrician can only come on Friday now.", "Thursday"),
    ("The train to Graz leaves at 9:10.", "The bus to Graz now leaves at 9:40.", "9:10"),
    ("The kiln is at 1,040°C.", "Bring the drying room down to 30°C.", "1,040°C"),
    ("The payroll file goes to payroll@elm.example.", "Please send the tax file to tax@elm.example instead.", "payroll@elm.example"),
    ("The exam is on June 3.", "The retake has moved to June 15.", "June 3"),
    ("Budget for marketing: $10k", "Budget for research: $12k", "$10k"),
    ("The interview with Mara is on May 4.", "The interview with Jonas is now on May 6.", "May 4"),
    ("Take 2 tablets of ibuprofen.", "For paracetamol it's 1 tablets now, not 3 tablets.", "2 tablets"),
    ("My number is +49 170 5550 123.", "My wife's number changed to +49 170 5550 456.", "+49 170 5550 123"),
    ("Our office address is 12 Mill Lane, open from 9:00.", "The Leeds office now opens at 10:00.", "9:00"),
    ("Kim's flight lands at 18:20.", "Lou's flight was delayed to 19:45.", "18:20"),
    ("The kids' dentist is on May 4.", "The vet moved us to May 6.", "May 4"),
    ("Tickets for adults are €12.", "Tickets for children went up to €8.", "€12"),
    ("Adult tickets are €12.", "Child tickets are now €8.", "€12"),
    ("Order 40 croissants for Saturday.", "Make the baguettes 60 instead.", "40 croissants"),
    ("The lease ends on March 31.", "The insurance now ends on June 30.", "March 31"),
    ("First instalment is due on May 1.", "Second instalment is now due on June 1.", "May 1"),
    ("Q1 review is on April 4.", "Q2 review moved to July 7.", "April 4"),
    (
        "The frontend repo is https://git.elm.example/front.",
        "The backend repo moved to https://git.elm.example/back.",
        "https://git.elm.example/front",
    ),
    ("Version 2.1.0 runs in production.", "Staging was upgraded to 2.2.0.", "2.1.0"),
    ("周报周五发。", "月报改到周二发。", "周五"),
    ("北店周一送货。", "南店改到周三。", "周一"),
    ("酒店预算3000元。", "机票预算改成4500元。", "3000元"),
    ("酒店要3000元。", "机票涨到4500元了。", "3000元"),
    ("总预算是3000元。", "机票预算改成4500元。", "3000元"),
    ("孩子的钢琴课在6月3日。", "游泳课换老师了，改到6月10日。", "6月3日"),
    ("孩子的钢琴课在6月3日。", "游泳改到6月10日了。", "6月3日"),
    ("物业的电话是13912345678。", "快递的电话换成13987654321了。", "13912345678"),
    ("账单接口地址是https://bill.qinglan.example/api。", "搜索接口地址改为https://search.qinglan.example/api。", "https://bill.qinglan.example/api"),
    ("上海第二分公司的预算是5万元。", "上海第一分公司的预算改成8万元。", "5万元"),
    ("北店的门禁码是AB-1200。", "南店的门禁码改成CD-3400。", "AB-1200"),
    ("合唱团要24把椅子。", "乐团改成30把椅子。", "24把"),
    ("二号楼的租金是8000元。", "三号楼的租金涨到9000元。", "8000元"),
    ("张三那边押金2000元。", "李四那边押金改成1500元。", "2000元"),
    ("酒店预算3000元。", "机票预算取消了。", "3000元"),
    ("年会定在12月20日。", "团建改到12月27日了。", "12月20日"),
    ("去程航班14:20起飞。", "回程航班改到16:05起飞。", "14:20"),
    ("办公室房租3500元。", "仓库房租涨到3800元。", "3500元"),
    ("早班6:00开始。", "晚班改到15:00开始。", "6:00"),
    ("客服电话是400-820-1234。", "销售电话换成400-820-9876了。", "400-820-1234"),
    ("红色面包车押金500元。", "蓝色面包车押金改成700元。", "500元"),
    ("会员折扣是10%。", "学生折扣提高到15%。", "10%"),
    ("张阿姨的课在6月3日。", "李阿姨的课改到6月9日。", "6月3日"),
    ("一号线要40颗螺丝。", "二号线改成60颗螺丝。", "40颗"),
    ("洗衣机质保12个月。", "烘干机质保是24个月。", "12个月"),
    ("上传超时是30秒。", "下载超时改成90秒。", "30秒"),
    ("妈妈的生日饭在5月4日。", "爸爸的生日饭改到5月9日。", "5月4日"),
    ("发票寄到zhangfang@lan.example。", "简历改寄到jobs@lan.example。", "zhangfang@lan.example"),
    ("主仓地址是北京路12号，周一盘点。", "分仓改到周三盘点。", "周一"),
    ("周一的课下午5点。", "周三的课改到下午6点。", "下午5点"),
    ("体检约在5月4日。", "牙医改到5月6日。", "5月4日"),
    ("装修预算10万元。", "家具预算追加到3万元。", "10万元"),
    ("火车9:10开。", "大巴改成9:40开。", "9:10"),
    ("成人票12元。", "儿童票涨到8元。", "12元"),
    ("我的电话是13912345678。", "我太太的电话换成13987654321了。", "13912345678"),
    ("第一期款5月1日付。", "第二期款改到6月1日付。", "5月1日"),
    ("前端仓库是https://git.song.example/front。", "后端仓库搬到https://git.song.example/back了。", "https://git.song.example/front"),
    ("小王的航班18:20到。", "小李的航班延误到19:45。", "18:20"),
    ("租约3月31日到期。", "保险改到6月30日到期。", "3月31日"),
    ("订40个可颂。", "贝果改成60个。", "40个"),
    ("周一早会9:00开。", "周五早会改到10:00开。", "9:00"),
]


def read(first: str, second: str, *, by_step: bool) -> tuple[ControlField, ...]:
    """Return the ledger after both statements, read at once or each as it is said."""
    if not by_step:
        return update_ledger((), [("human", first), ("ai", "Noted."), ("human", second)]).fields
    fields = update_ledger((), [HumanMessage(first, id="1")]).fields
    return update_ledger(fields, [HumanMessage(second, id="2")], start=1).fields


def in_force(fields: tuple[ControlField, ...]) -> list[str]:
    return [field.raw for field in fields if not field.is_closed]


@pytest.mark.parametrize("by_step", [False, True])
@pytest.mark.parametrize(("first", "second", "old"), ENDS)
def test_a_change_of_the_same_thing_ends_the_earlier_value(first: str, second: str, old: str, *, by_step: bool) -> None:
    """However it is named, and also where it is only meant: one value holds, and the old one is its history."""
    fields = read(first, second, by_step=by_step)
    assert old not in in_force(fields)
    assert [old] == [event.raw for field in fields for event in field.history]


@pytest.mark.parametrize("by_step", [False, True])
@pytest.mark.parametrize(("first", "second", "old"), HOLDS)
def test_a_value_of_another_thing_ends_nothing(first: str, second: str, old: str, *, by_step: bool) -> None:
    """Another qualifier, owner, place, number or sort; several it might mean; or another thing called off."""
    fields = read(first, second, by_step=by_step)
    assert old in in_force(fields)
    assert old not in {event.raw for field in fields for event in field.history}


def _view_after(first: str, second: str) -> str:
    messages = [{"role": "user", "content": first}, {"role": "assistant", "content": "Noted."}]
    for turn in range(6):
        messages += [{"role": "user", "content": f"Walking through part {turn} of the design notes."}, {"role": "assistant", "content": "Going on."}]
    messages += [{"role": "user", "content": second}, {"role": "assistant", "content": "Noted."}]
    for turn in range(6):
        messages += [{"role": "user", "content": f"Talking over draft {turn} of the page."}, {"role": "assistant", "content": "Going on."}]
    return "\n".join(text_of(message) for message in compact_messages(messages, keep=("turns", 1)).messages)


@pytest.mark.parametrize(
    ("first", "second", "old"),
    [row for row in HOLDS if row[2] in {"Friday", "Tuesday", "Monday", "https://bill.thistle.example", "$2,000", "周一", "3000元"}],
)
def test_a_view_still_tells_what_nobody_changed(first: str, second: str, old: str) -> None:
    """The first statement stands in the view after a compaction, with its value."""
    view = _view_after(first, second)
    assert first in view or any(old in line.replace(second, "") for line in view.splitlines())


def test_the_same_value_of_two_things_may_change_for_one() -> None:
    """Hotel and flight cost the same; the flight still does after the hotel became dearer."""
    said = ["The hotel budget is $300. The flight budget is $300 too.", "The hotel budget went up to $450."]
    fields = update_ledger((), [("human", text) for text in said]).fields
    assert [("hotel budget", "$450"), ("flight budget", "$300")] == [(field.label, field.raw) for field in fields]


def test_a_thing_that_changed_twice_is_known_by_what_it_was_called_first() -> None:
    """A bare "make that" names nothing; what follows is still about the deliveries, and not about those of another store."""
    said = ["Deliveries for the north store arrive on Monday.", "Make that Tuesday."]
    same = update_ledger((), [("human", text) for text in (*said, "The north store's deliveries moved to Friday.")]).fields
    assert [("Friday", ["Monday", "Tuesday"])] == [(field.raw, [event.raw for event in field.history]) for field in same]
    other = update_ledger((), [("human", text) for text in (*said, "The south store's deliveries moved to Friday.")]).fields
    assert ["Tuesday", "Friday"] == in_force(other)


def test_a_value_that_is_named_as_old_is_the_one_replaced() -> None:
    """Said as "B instead of A" it ends A and no other address."""
    said = ["Write to a@x.example.", "Cc c@x.example.", "Use b@x.example instead of a@x.example."]
    assert ["b@x.example", "c@x.example"] == in_force(update_ledger((), [("human", text) for text in said]).fields)


@pytest.mark.parametrize(("text", "raw", "names"), [
    ("Make that $450.", "$450", set()),
    ("Sorry, 4 pm.", "4 pm", set()),
    ("The evening shift starts at 3 pm.", "3 pm", {"even", "shift~"}),
    ("It is on Friday evening.", "Friday", set()),
    ("The airline moved our flight to 16:05.", "16:05", {"flight"}),
    ("FYI the search API was moved, its URL is now https://x.example.", "https://x.example", {"search", "api", "url"}),
    ("月报改到周二发", "周二", {"月报"}),
    ("场地费换成7500元", "7500元", {"场地费"}),
    ("对不起，改成周三", "周三", set()),
])  # fmt: skip
def test_what_a_clause_names(text: str, raw: str, names: set[str]) -> None:
    """Names, without the words that any change is told with."""
    assert names == matter_at(text, text.index(raw), text.index(raw) + len(raw)).names


def test_what_is_called_off_is_named_with_what_qualifies_it() -> None:
    """In English before the head and behind it, in Chinese before it."""
    assert {"flight"} == named_with("so the flight budget", ["budget"])
    assert {"post"} == named_with("the deadline for the poster", ["deadline"])
    assert {"机票"} == named_with("机票预算", ["预算"])
    held = matter_at("The deadline for the talk is June 30.", 29, 36)
    assert not is_named({"post"}, held)
    assert names_nothing_else(held, [held])
    assert not is_of_another(held, held, is_change=False)


@pytest.mark.parametrize("piece", ["the north store ", "北店的", "a" * 50, ", ", "its ", "line 2 ", "for the ", "."])
def test_a_huge_text_is_read_in_time(piece: str) -> None:
    """Only what stands around the value is read."""
    text = piece * 20_000 + " $300 " + piece * 20_000
    started = time.thread_time()
    for _ in range(20):
        matter_at(text, text.index("$300"), text.index("$300") + 4)
    assert time.thread_time() - started < 0.5


def test_a_short_word_is_no_ending() -> None:
    """What is left of a word is a stem if it has three letters."""
    assert stems_of(["bus", "buses", "reports"]) == {"bus", "report"}


def test_a_head_of_two_words_is_found_by_its_last() -> None:
    """What stands before "limit" qualifies a budget limit, and "phone" is part of what is said of a number."""
    text = "The flight budget limit is $300."
    matter = matter_at(text, text.index("$"), text.index("$") + 4)
    assert "budget" in matter.before(["budget limit"])
    assert named_with("the gate phone number", ["phone number"]) == {"gat", "phon"}


@pytest.mark.parametrize(("one", "other"), [("K", "L"), ("A", "B"), ("H", "J"), ("N", "M")])
def test_a_letter_tells_rooms_apart(one: str, other: str) -> None:
    """Every letter but the word "I" does."""
    before, after = f"The talk in room {one} is on May 3.", f"The talk in room {other} is now on May 9."
    matters = [matter_at(text, text.index("May"), text.index("May") + 5) for text in (before, after)]
    assert is_of_another(matters[1], matters[0], is_change=True)


def test_what_may_be_a_verb_is_a_thing_behind_an_article() -> None:
    """The shift is named, they shift is not."""
    text = "The shift is on May 3."
    assert matter_at(text, text.index("May"), text.index("May") + 5).names
    text = "They shift it to May 3."
    assert not matter_at(text, text.index("May"), text.index("May") + 5).names


def test_eight_things_of_one_value_are_told_apart() -> None:
    """Each may change alone; of more the newest is taken for the one that is meant, so that a value said often costs no more."""
    stores = ["north", "south", "east", "west", "harbour", "airport", "station", "castle", "garden", "museum"]
    said = [{"role": "user", "content": f"The rent of the {store} store is $300."} for store in stores]
    assert [len(update_ledger([], said[:many]).fields) for many in (1, 7, 8, 9, 10)] == [1, 7, 8, 8, 8]
