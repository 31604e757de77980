"""Units as figures carry them (zh, en): what kind of quantity, and how many of its base unit."""

from decimal import Decimal

_UNITS: dict[str, dict[str, str]] = {
    "percent": {"1": "% percent per~cent 百分点 percentage~points percentage~point"},
    "permille": {"1": "‰"},
    "yuan": {"1": "元 块钱 块 yuan RMB CNY 人民币"},
    "dollar": {"1": "美元 美金 USD dollars dollar"},
    "euro": {"1": "欧元 EUR euros euro"},
    "sterling": {"1": "英镑 GBP"},
    "yen": {"1": "日元 JPY yen"},
    "metre": {
        "1": "米 m metres metre meters meter",
        "1000": "公里 km kilometres kilometre kilometers kilometer",
        "0.01": "厘米 cm centimetres centimeters",
        "0.001": "毫米 mm millimetres millimeters",
    },
    "mile": {"1": "英里 miles mile"},
    "foot": {"1": "英尺 feet foot ft"},
    "area": {
        "1": "平方米 m² m2 square~metres square~meters",
        "1000000": "平方公里 平方千米 km² km2 square~kilometres square~kilometers",
        "10000": "公顷 hectares hectare ha",
    },
    "gram": {
        "1": "克 g grams gram",
        "1000": "公斤 kg kilograms kilogram",
        "500": "斤",
        "1000000": "吨 tonnes tonne tons ton",
    },
    "litre": {"1": "升 L litres litre liters liter", "0.001": "毫升 ml mL"},
    "second": {
        "1": "秒 s sec seconds second",
        "60": "分钟 min mins minutes minute",
        "3600": "小时 钟头 h hr hrs hours hour",
        "86400": "天 days day",
        "604800": "周 星期 weeks week",
    },
    "month": {"1": "月 months month"},
    "year": {"1": "年 岁 years year"},
    "century": {"1": "世纪 centuries century"},
    "degree": {"1": "摄氏度 °C 度 degrees degree °"},
    "fahrenheit": {"1": "华氏度 °F"},
    "person": {"1": "人次 人 people persons person"},
    "watt": {"1": "W watts", "1000": "千瓦 kW", "1000000": "兆瓦 MW", "1000000000": "GW"},
    "watt hour": {
        "1": "Wh",
        "1000": "千瓦时 kWh",
        "1000000": "兆瓦时 MWh",
        "1000000000": "GWh",
        "1000000000000": "TWh",
    },
    "volt": {"1": "伏 V volts", "1000": "kV"},
    "byte": {
        "1": "bytes",
        "1000": "KB",
        "1000000": "MB",
        "1000000000": "GB",
        "1000000000000": "TB",
    },
}
SCALES: dict[str, Decimal] = {
    "万亿": Decimal(10**12),
    "千亿": Decimal(10**11),
    "百亿": Decimal(10**10),
    "十亿": Decimal(10**9),
    "亿": Decimal(10**8),
    "千万": Decimal(10**7),
    "百万": Decimal(10**6),
    "十万": Decimal(10**5),
    "万": Decimal(10**4),
    "千": Decimal(1000),
    "百": Decimal(100),
    "thousand": Decimal(1000),
    "million": Decimal(10**6),
    "billion": Decimal(10**9),
    "trillion": Decimal(10**12),
}
PREFIXES: dict[str, str] = {
    "US$": "dollar",
    "$": "dollar",
    "USD": "dollar",
    "¥": "yuan",
    "RMB": "yuan",
    "CNY": "yuan",
    "人民币": "yuan",
    "€": "euro",
    "EUR": "euro",
    "£": "sterling",
    "GBP": "sterling",
    "百分之": "percent",
}
UNITS: dict[str, tuple[str, Decimal]] = {
    word.replace("~", " "): (kind, Decimal(factor))
    for kind, written in _UNITS.items()
    for factor, words in written.items()
    for word in words.split()
}
MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)
