"""Units, magnitudes, currencies and months, as they are written: the data of `figures`."""

from decimal import Decimal

_UNITS: dict[str, dict[str, str]] = {
    "percent": {
        "1": "% percent per~cent Prozent процентов процента процент 百分点 "
        "percentage~points percentage~point pct",
        "10": "成 折",
    },
    "permille": {"1": "‰"},
    "yuan": {
        "1": "¥ 元 块钱 块 圆 yuan RMB CNY 人民币 юаней юаня юань yuanes Yuan 위안",
        "0.1": "毛 角",
    },
    "": {"1": "pounds pound"},
    "dollar": {
        "1": "$ 美元 美金 USD usd US~dollars US~dollar us~dollars us~dollar dollars dollar "
        "долларов доллара доллар dólares dólar",
        "0.01": "cents cent 美分",
        "1000000": "MUSD",
    },
    "euro": {"1": "€ 欧元 EUR eur euros euro Euro евро", "1000000": "MEUR"},
    "sterling": {"1": "£ 英镑 GBP gbp pounds~sterling", "0.01": "pence penny", "1000000": "MGBP"},
    "yen": {"1": "日元 日圆 JPY yen"},
    "hong kong dollar": {"1": "港元 港币 HKD"},
    "rupee": {"1": "卢比 INR rupees rupee"},
    "franc": {"1": "法郎 francs franc"},
    "rouble": {"1": "₽ 卢布 RUB roubles rouble rubles ruble руб. руб рублей рубля рубль"},
    "metre": {
        "1": "米 m metres metre meters meter Meter Metern mètres metros metri м метров метра метр",
        "1000": "公里 千米 km kilometres kilometre kilometers kilometer Kilometer Kilometern "
        "kilomètres kilómetros chilometri км километров километра километр",
        "0.01": "厘米 公分 cm centimetres centimetre centimeters centimeter см "
        "сантиметров сантиметра",
        "0.001": "毫米 mm millimetres millimeters millimetre millimeter мм миллиметров",
        "1609.344": "英里 miles mile mi",
        "0.3048": "英尺 feet foot ft",
        "0.0254": "英寸 inches inch 吋",
        "0.9144": "yards yard yd",
    },
    "area": {
        "1": "平方米 m² m2 ㎡ sq~m square~metres square~meters square~metre square~meter "
        "Quadratmeter м² кв.~м",
        "1000000": "平方公里 平方千米 km² km2 sq~km square~kilometres square~kilometers "
        "Quadratkilometer км²",
        "10000": "公顷 hectares hectare ha га гектаров гектара",
        "4046.8564224": "英亩 acres acre",
        "666.6666667": "亩",
        "2589988.110336": "平方英里 square~miles square~mile",
        "0.09290304": "平方英尺 square~feet square~foot sq~ft",
    },
    "gram": {
        "1": "克 g grams gram grammes Gramm г граммов",
        "0.001": "毫克 mg milligrams milligram",
        "1000": "公斤 千克 kg kilograms kilogram kilos kilo Kilogramm кг килограммов",
        "500": "斤",
        "50": "两",
        "1000000": "吨 tonnes tonne tons ton metric~tons metric~ton Tonnen т тонн тонны",
        "453.59237": "磅 lbs lb",
        "28.349523": "盎司 ounces ounce oz",
    },
    "litre": {
        "1": "升 L litres litre liters liter Liter litros л литров литра",
        "0.001": "毫升 ml mL millilitres milliliters",
        "3.785411784": "加仑 gallons gallon",
    },
    "second": {
        "0.001": "毫秒 ms milliseconds millisecond",
        "1": "秒 秒钟 s sec secs seconds second Sekunden secondes segundos сек секунд",
        "60": "分钟 min mins minutes minute Minuten Minute minutos minuto minuti "
        "мин минут минуты минута",
        "3600": "小时 钟头 h hr hrs hours hour Stunden Stunde heures heure horas hora "
        "ч часов часа час",
        "86400": "天 日 days day Tage Tagen Tag jours jour días día дней дня день сут.",
        "604800": "周 星期 weeks week Wochen Woche semaines semanas недель недели неделя",
    },
    "month": {"1": "月 months month Monate Monaten Monat mois meses mes месяцев месяца месяц"},
    "year": {"1": "年 岁 周岁 years year Jahre Jahren Jahr ans años año лет года год"},
    "century": {"1": "世纪 centuries century"},
    "degree": {"1": "摄氏度 °C ℃ 度 degrees~Celsius degrees~C degrees degree celsius Celsius °"},
    "fahrenheit": {
        "1": "华氏度 °F ℉ degrees~Fahrenheit degrees~fahrenheit degree~fahrenheit degrees~F "
        "fahrenheit Fahrenheit"
    },
    "person": {
        "1": "人次 人 名様 명 인 people persons person Person Personen personne personnes persona "
        "personas человек человека"
    },
    "watt": {
        "1": "W watts watt Watt",
        "1000": "千瓦 kW kilowatts Kilowatt",
        "1000000": "兆瓦 MW megawatts megawatt Megawatt",
        "1000000000": "GW gigawatts gigawatt Gigawatt",
    },
    "watt hour": {
        "1": "Wh",
        "1000": "千瓦时 kWh",
        "1000000": "兆瓦时 MWh",
        "1000000000": "GWh",
        "1000000000000": "TWh",
    },
    "volt": {"1": "伏 V volts", "1000": "kV"},
    "hertz": {"1": "赫兹 Hz", "1000": "kHz", "1000000": "兆赫 MHz", "1000000000": "GHz"},
    "byte": {
        "1": "字节 bytes byte",
        "1000": "KB",
        "1024": "KiB",
        "1000000": "兆字节 MB",
        "1048576": "MiB",
        "1000000000": "GB",
        "1073741824": "GiB",
        "1000000000000": "TB",
    },
}
UNITS: dict[str, tuple[str, Decimal]] = {
    word.replace("~", " "): (kind, Decimal(factor))
    for kind, written in _UNITS.items()
    for factor, words in written.items()
    for word in words.split()
}
MONEY = frozenset(
    ("yuan", "dollar", "euro", "sterling", "yen", "hong kong dollar", "rupee", "franc", "rouble")
)
"""The kinds of unit that are currencies."""
SCALES: dict[str, Decimal] = {
    word: Decimal(10) ** zeros
    for zeros, words in {
        12: "万亿 trillion tn",
        11: "千亿",
        10: "百亿",
        9: "十亿 B bn billion Milliarde Milliarden milliards млрд миллиардов миллиарда миллиард",
        8: "亿",
        7: "千万 crore crores",
        6: "百万 M mn million Millionen millones millions млн миллионов миллиона миллион",
        5: "十万 lakh lakhs",
        4: "万",
        3: "千 K k thousand тыс. тыс тысяч тысячи тысяча",
        2: "百 hundred",
        1: "十",
    }.items()
    for word in words.split()
}
"""The magnitudes behind a number."""
PREFIXES: dict[str, str] = {
    word: kind
    for kind, words in {
        "dollar": "US$ $ USD usd A$ C$ AU$ CA$",
        "yuan": "¥ RMB rmb CNY 人民币",
        "euro": "€ EUR eur",
        "sterling": "£ GBP",
        "hong kong dollar": "HK$ HKD",
        "rupee": "₹ Rs",
        "bitcoin": "₿",
        "percent": "百分之",
    }.items()
    for word in words.split()
} | {"factor of": "times"}
MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)
FOREIGN_MONTHS = {
    name: number
    for names in (
        "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
        "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
        "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
        "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre "
        "dicembre",
        "januari februari maart april mei juni juli augustus september oktober november december",
        "января февраля марта апреля мая июня июля августа сентября октября ноября декабря",
        "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
    )
    for number, name in enumerate(names.split(), 1)
}
"""German, French, Spanish, Italian, Dutch, Russian, Portuguese."""
_COUNTED = """个 层 楼 座 家 位 条 间 名 次 倍 张 件 辆 站 章 页 届 题 部 场 处 口 项 种 步 级 星 号
代 段 句 票 幢 栋 双 对 本 所 台 只 棵 支 瓶 杯 碗 轮 圈 分钟 刻 打"""
COUNTERS = tuple(_COUNTED.split())
"""What a Chinese numeral of one character may count; before other words it is part of a name."""
