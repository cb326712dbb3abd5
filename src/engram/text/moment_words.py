"""
The words that speak of time: months, weekdays, numbers, units, and the set phrases of eight languages.

Read by the rules of `moments`, which know what to do with them; nothing here computes a date. A set
phrase is a unit, or a part of a day, and how many of it lie between then and now: yesterday is one day
back. Only English phrases are rewritten as dates; a sentence in another language keeps its own words.
"""

from __future__ import annotations

from engram.text.moment_tongues import TONGUES


def _numbered(words: str, *, first: int) -> dict[str, int]:
    """Return each word with its place in the row; `/` between words of the same number."""
    return {word: number for number, group in enumerate(words.split(), first) for word in group.split("/")}


_ENGLISH_MONTHS = "january february march april may june july august september october november december"
MONTHS = tuple(name.capitalize() for name in _ENGLISH_MONTHS.split())

_SHORT_MONTHS = "jan feb mar apr may jun jul aug sep/sept oct nov dec"

MONTH_NUMBERS: dict[str, int] = {
    word: number
    for row in (_ENGLISH_MONTHS, _SHORT_MONTHS, *(tongue.months for tongue in TONGUES))
    for word, number in _numbered(row, first=1).items()
}

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")

_SHORT_WEEKDAYS = "mon tue/tues wed thu/thur/thurs fri sat sun"

WEEKDAY_NUMBERS: dict[str, int] = {
    word: number
    for row in (" ".join(WEEKDAYS), _SHORT_WEEKDAYS, *(tongue.weekdays for tongue in TONGUES))
    for word, number in _numbered(row, first=0).items()
}

_A_FEW = "few paar einigen wenigen quelques unos unas algunos algunas qualche alcuni alcune несколько 几 数"
VAGUE_COUNTS = {"couple": (2, 2), "several": (3, 7), **dict.fromkeys(_A_FEW.split(), (2, 5))}
"""Words that do not want to be exact, and the least and the most that they mean."""

COUNTS: dict[str, int] = {
    **_numbered(
        "a/an/one two/couple three four/several five six seven eight nine ten eleven twelve", first=1
    ),
    **_numbered("einem/einer zwei drei vier fünf sechs sieben acht neun zehn", first=1),
    **_numbered("un/une deux trois quatre cinq six sept huit neuf dix", first=1),
    **_numbered("un/una dos tres cuatro cinco seis siete ocho nueve diez", first=1),
    **_numbered("un/una/uno due tre quattro cinque sei sette otto nove dieci", first=1),
    **_numbered("один два/две три четыре пять шесть семь восемь девять десять", first=1),
    **_numbered("一 二/两 三 四 五 六 七 八 九 十", first=1),
    **dict.fromkeys(_A_FEW.split(), 3),
}
SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
"""The first of a season's three months, in the northern half of the world."""

FOREIGN_SEASONS: dict[str, int] = {
    word: 3 * number for tongue in TONGUES for word, number in _numbered(tongue.seasons, first=1).items()
}

HOLIDAYS = {
    "christmas": (12, 24, 3),
    "christmas eve": (12, 24, 1),
    "christmas day": (12, 25, 1),
    "new year's eve": (12, 31, 1),
    "new year's day": (1, 1, 1),
    "new year": (12, 31, 2),
    "xmas": (12, 24, 3),
    "new year's": (12, 31, 2),
    "halloween": (10, 31, 1),
    "valentine's day": (2, 14, 1),
}
"""Month, day, and how many days: feasts that have the same date every year."""

UNITS: dict[str, str] = {
    **dict.fromkeys(["minute", "minutes", "min", "mins"], "minute"),
    **dict.fromkeys(["h", "hr", "hrs"], "hour"),
    "d": "day",
    **dict.fromkeys(["wk", "wks"], "week"),
    **dict.fromkeys(["fortnight", "fortnights"], "fortnight"),
    **dict.fromkeys(["hour", "hours", "stunde", "stunden", "heure", "heures", "hora", "horas"], "hour"),
    **dict.fromkeys(["ora", "ore", "час", "часа", "часов", "小时", "時間"], "hour"),
    **dict.fromkeys(["day", "days", "tag", "tagen", "tage", "jour", "jours", "día", "días"], "day"),
    **dict.fromkeys(["giorno", "giorni", "день", "дня", "дней", "天", "日"], "day"),
    **dict.fromkeys(["week", "weeks", "woche", "wochen", "semaine", "semaines", "semana", "semanas"], "week"),
    **dict.fromkeys(["weekend", "weekends"], "weekend"),
    **dict.fromkeys(["settimana", "settimane", "неделю", "недели", "недель"], "week"),
    **dict.fromkeys(["周", "星期", "週間"], "week"),
    **dict.fromkeys(
        ["month", "months", "monat", "monats", "monaten", "monate", "mois", "mes", "meses"], "month"
    ),
    **dict.fromkeys(["mese", "mesi", "месяц", "месяца", "месяцев"], "month"),
    **dict.fromkeys(["月", "个月", "か月", "ヶ月"], "month"),
    **dict.fromkeys(
        ["year", "years", "jahr", "jahres", "jahren", "jahre", "an", "ans", "année", "années"], "year"
    ),
    **dict.fromkeys(["año", "años", "anno", "anni", "год", "года", "лет", "年"], "year"),
}

SET_PHRASES: dict[str, tuple[str, int]] = {
    # German
    "heute": ("day", 0),
    "morgen": ("day", 1),
    "gestern": ("day", -1),
    "vorgestern": ("day", -2),
    "heute morgen": ("morning", 0),
    "heute früh": ("morning", 0),
    "heute nachmittag": ("afternoon", 0),
    "heute abend": ("evening", 0),
    "gestern abend": ("evening", -1),
    "übermorgen": ("day", 2),
    "letzte woche": ("week", -1),
    "vorige woche": ("week", -1),
    "letzter woche": ("week", -1),
    "vergangene woche": ("week", -1),
    "vorigen monat": ("month", -1),
    "vergangenen monat": ("month", -1),
    "voriges jahr": ("year", -1),
    "vergangenes jahr": ("year", -1),
    "der letzten woche": ("week", -1),
    "diese woche": ("week", 0),
    "nächste woche": ("week", 1),
    "letzten monat": ("month", -1),
    "im letzten monat": ("month", -1),
    "diesen monat": ("month", 0),
    "nächsten monat": ("month", 1),
    "letztes jahr": ("year", -1),
    "im letzten jahr": ("year", -1),
    "dieses jahr": ("year", 0),
    "nächstes jahr": ("year", 1),
    "letztes wochenende": ("weekend", -1),
    "am letzten wochenende": ("weekend", -1),
    # French
    "le week-end dernier": ("weekend", -1),
    "aujourd'hui": ("day", 0),
    "hier": ("day", -1),
    "avant-hier": ("day", -2),
    "ce matin": ("morning", 0),
    "cet après-midi": ("afternoon", 0),
    "ce soir": ("evening", 0),
    "hier soir": ("evening", -1),
    "demain": ("day", 1),
    "après-demain": ("day", 2),
    "hier matin": ("morning", -1),
    "cette nuit": ("night", -1),
    "la semaine dernière": ("week", -1),
    "la semaine passée": ("week", -1),
    "le mois passé": ("month", -1),
    "l'an passé": ("year", -1),
    "l'année passée": ("year", -1),
    "la semaine prochaine": ("week", 1),
    "cette semaine": ("week", 0),
    "le mois dernier": ("month", -1),
    "le mois prochain": ("month", 1),
    "ce mois-ci": ("month", 0),
    "l'année dernière": ("year", -1),
    "l'an dernier": ("year", -1),
    "l'année prochaine": ("year", 1),
    "cette année": ("year", 0),
    # Spanish
    "el fin de semana pasado": ("weekend", -1),
    "este fin de semana": ("weekend", 0),
    "hoy": ("day", 0),
    "ayer": ("day", -1),
    "anteayer": ("day", -2),
    "esta mañana": ("morning", 0),
    "esta tarde": ("afternoon", 0),
    "esta noche": ("evening", 0),
    "anoche": ("evening", -1),
    "mañana": ("day", 1),
    "pasado mañana": ("day", 2),
    "la semana pasada": ("week", -1),
    "la semana anterior": ("week", -1),
    "esta semana": ("week", 0),
    "la próxima semana": ("week", 1),
    "la semana que viene": ("week", 1),
    "el mes pasado": ("month", -1),
    "este mes": ("month", 0),
    "el próximo mes": ("month", 1),
    "el mes que viene": ("month", 1),
    "el año pasado": ("year", -1),
    "este año": ("year", 0),
    "el próximo año": ("year", 1),
    "el año que viene": ("year", 1),
    # Italian
    "lo scorso fine settimana": ("weekend", -1),
    "questo fine settimana": ("weekend", 0),
    "oggi": ("day", 0),
    "ieri": ("day", -1),
    "l'altro ieri": ("day", -2),
    "domani": ("day", 1),
    "dopodomani": ("day", 2),
    "stamattina": ("morning", 0),
    "questa mattina": ("morning", 0),
    "stasera": ("evening", 0),
    "ieri sera": ("evening", -1),
    "la settimana scorsa": ("week", -1),
    "la scorsa settimana": ("week", -1),
    "questa settimana": ("week", 0),
    "la settimana prossima": ("week", 1),
    "la prossima settimana": ("week", 1),
    "il mese scorso": ("month", -1),
    "lo scorso mese": ("month", -1),
    "questo mese": ("month", 0),
    "il mese prossimo": ("month", 1),
    "il prossimo mese": ("month", 1),
    "l'anno scorso": ("year", -1),
    "lo scorso anno": ("year", -1),
    "quest'anno": ("year", 0),
    "l'anno prossimo": ("year", 1),
    "il prossimo anno": ("year", 1),
    # Russian
    "в прошлые выходные": ("weekend", -1),
    "сегодня": ("day", 0),
    "сегодня утром": ("morning", 0),
    "сегодня вечером": ("evening", 0),
    "вчера вечером": ("evening", -1),
    "вчера": ("day", -1),
    "позавчера": ("day", -2),
    "завтра": ("day", 1),
    "послезавтра": ("day", 2),
    "на прошлой неделе": ("week", -1),
    "за прошлую неделю": ("week", -1),
    "за прошлый месяц": ("month", -1),
    "за прошлый год": ("year", -1),
    "на этой неделе": ("week", 0),
    "на следующей неделе": ("week", 1),
    "в прошлом месяце": ("month", -1),
    "в этом месяце": ("month", 0),
    "в следующем месяце": ("month", 1),
    "в прошлом году": ("year", -1),
    "в этом году": ("year", 0),
    "в следующем году": ("year", 1),
}

UNSPACED_PHRASES: dict[str, tuple[str, int]] = {
    # Chinese
    "今天": ("day", 0),
    "今天早上": ("morning", 0),
    "今早": ("morning", 0),
    "今天下午": ("afternoon", 0),
    "昨天": ("day", -1),
    "前天": ("day", -2),
    "明天": ("day", 1),
    "后天": ("day", 2),
    "昨晚": ("day", -1),
    "今晚": ("day", 0),
    "上周": ("week", -1),
    "上上周": ("week", -2),
    "上星期": ("week", -1),
    "上个星期": ("week", -1),
    "上礼拜": ("week", -1),
    "这个星期": ("week", 0),
    "大前天": ("day", -3),
    "这周": ("week", 0),
    "本周": ("week", 0),
    "下周": ("week", 1),
    "下星期": ("week", 1),
    "上个月": ("month", -1),
    "这个月": ("month", 0),
    "下个月": ("month", 1),
    "去年": ("year", -1),
    "今年": ("year", 0),
    "明年": ("year", 1),
    "前年": ("year", -2),
    # Japanese
    "今日": ("day", 0),
    "今朝": ("morning", 0),
    "きのう": ("day", -1),
    "おととい": ("day", -2),
    "昨晩": ("night", -1),
    "先々月": ("month", -2),
    "おととし": ("year", -2),
    "昨夜": ("night", -1),
    "今夜": ("evening", 0),
    "先々週": ("week", -2),
    "昨日": ("day", -1),
    "一昨日": ("day", -2),
    "明日": ("day", 1),
    "明後日": ("day", 2),
    "先週": ("week", -1),
    "今週": ("week", 0),
    "来週": ("week", 1),
    "先月": ("month", -1),
    "今月": ("month", 0),
    "来月": ("month", 1),
    "昨年": ("year", -1),
    "一昨年": ("year", -2),
    "来年": ("year", 1),
}

_UNSPACED_DISTANCE = (
    r"(?P<count>\d{1,3}|[一两二三四五六七八九十几数])(?P<unit>个月|か月|ヶ月|週間|星期|天|日|周|年)"
)

AGO_FRAMES = (
    ("vor", r"\bvor (?P<count>COUNT) (?P<unit>UNIT)\b"),
    ("il", r"\bil y a (?P<count>COUNT) (?P<unit>UNIT)\b"),
    ("hace", r"\bhace (?P<count>COUNT) (?P<unit>UNIT)\b"),
    ("fa", r"\b(?P<count>COUNT) (?P<unit>UNIT) fa\b"),
    ("назад", r"\b(?:(?P<count>COUNT) )?(?P<unit>UNIT) назад\b"),
    ("前", _UNSPACED_DISTANCE + "前"),
)
AHEAD_FRAMES = (
    (
        "tag tagen woche wochen monat jahr",
        r"\bin (?P<count>einem|einer|zwei|drei|vier|fünf|\d{1,3}) (?P<unit>tag|tagen|woche|wochen|monat|"
        r"jahr)\b",
    ),
    ("dans", r"\bdans (?P<count>COUNT) (?P<unit>UNIT)\b"),
    ("tra fra", r"\b[tf]ra (?P<count>COUNT) (?P<unit>UNIT)\b"),
    ("dentro", r"\bdentro de (?P<count>COUNT) (?P<unit>UNIT)\b"),
    ("через", r"\bчерез (?:(?P<count>COUNT) )?(?P<unit>UNIT)\b"),
    ("后", _UNSPACED_DISTANCE + "后"),
    ("後", _UNSPACED_DISTANCE + "後"),
)
"""Words of which one is always in the frame, and the frame; COUNT and UNIT stand for the words above."""
