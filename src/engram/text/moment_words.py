"""
The words that speak of time: months, weekdays, numbers and units, and the set phrases of seven languages.

Read by `moments` alone, which knows what to do with them; nothing here computes a date. A set phrase is a
unit and how many of it lie between then and now: yesterday is one day back. Only English phrases are
rewritten as dates; a sentence in another language keeps its own words.
"""

from __future__ import annotations


def _numbered(words: str, *, first: int) -> dict[str, int]:
    """Return each word with its place in the row; `/` between words of the same number."""
    return {word: number for number, group in enumerate(words.split(), first) for word in group.split("/")}


_ENGLISH_MONTHS = "january february march april may june july august september october november december"
MONTHS = tuple(name.capitalize() for name in _ENGLISH_MONTHS.split())

MONTH_NUMBERS: dict[str, int] = {
    **_numbered(_ENGLISH_MONTHS, first=1),
    **_numbered("jan feb mar apr may jun jul aug sep/sept oct nov dec", first=1),
    **_numbered(
        "januar februar märz april mai juni juli august september oktober november dezember", first=1
    ),
    **_numbered(
        "janvier février mars avril mai juin juillet août septembre octobre novembre décembre", first=1
    ),
    **_numbered("enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre", first=1),
    "diciembre": 12,
    **_numbered("января февраля марта апреля мая июня июля августа сентября октября ноября декабря", first=1),
}

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")

WEEKDAY_NUMBERS: dict[str, int] = {
    **_numbered(" ".join(WEEKDAYS), first=0),
    **_numbered("mon tue/tues wed thu/thur/thurs fri sat sun", first=0),
    **_numbered("montag dienstag mittwoch donnerstag freitag samstag/sonnabend sonntag", first=0),
    **_numbered("lundi mardi mercredi jeudi vendredi samedi dimanche", first=0),
    **_numbered("lunes martes miércoles jueves viernes sábado domingo", first=0),
    **_numbered("понедельник вторник среду четверг пятницу субботу воскресенье", first=0),
}

COUNTS: dict[str, int] = {
    **_numbered(
        "a/an/one two/couple three/few four/several five six seven eight nine ten eleven twelve", first=1
    ),
    **_numbered("einem/einer zwei drei vier fünf sechs sieben acht neun zehn", first=1),
    **_numbered("un/une deux trois quatre cinq six sept huit neuf dix", first=1),
    **_numbered("un/una dos tres cuatro cinco seis siete ocho nueve diez", first=1),
    **_numbered("один два/две три четыре пять шесть семь восемь девять десять", first=1),
    **_numbered("一 二/两 三/几/数 四 五 六 七 八 九 十", first=1),
}
SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
"""The first of a season's three months, in the northern half of the world."""

VAGUE_COUNTS = frozenset({"couple", "few", "several", "几", "数"})

UNITS: dict[str, str] = {
    **dict.fromkeys(["minute", "minutes"], "minute"),
    **dict.fromkeys(["hour", "hours"], "hour"),
    **dict.fromkeys(["day", "days", "tag", "tagen", "tage", "jour", "jours", "día", "días"], "day"),
    **dict.fromkeys(["день", "дня", "дней", "天", "日"], "day"),
    **dict.fromkeys(["week", "weeks", "woche", "wochen", "semaine", "semaines", "semana", "semanas"], "week"),
    **dict.fromkeys(["неделю", "недели", "недель", "周", "星期", "週間"], "week"),
    **dict.fromkeys(["month", "months", "monat", "monaten", "monate", "mois", "mes", "meses"], "month"),
    **dict.fromkeys(["месяц", "месяца", "месяцев", "月", "个月", "か月", "ヶ月"], "month"),
    **dict.fromkeys(["year", "years", "jahr", "jahren", "jahre", "an", "ans", "année", "années"], "year"),
    **dict.fromkeys(["año", "años", "год", "года", "лет", "年"], "year"),
}

SET_PHRASES: dict[str, tuple[str, int]] = {
    # German
    "heute": ("day", 0),
    "morgen": ("day", 1),
    "gestern": ("day", -1),
    "vorgestern": ("day", -2),
    "übermorgen": ("day", 2),
    "letzte woche": ("week", -1),
    "vorige woche": ("week", -1),
    "diese woche": ("week", 0),
    "nächste woche": ("week", 1),
    "letzten monat": ("month", -1),
    "diesen monat": ("month", 0),
    "nächsten monat": ("month", 1),
    "letztes jahr": ("year", -1),
    "dieses jahr": ("year", 0),
    "nächstes jahr": ("year", 1),
    # French
    "aujourd'hui": ("day", 0),
    "hier": ("day", -1),
    "avant-hier": ("day", -2),
    "demain": ("day", 1),
    "après-demain": ("day", 2),
    "la semaine dernière": ("week", -1),
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
    "hoy": ("day", 0),
    "ayer": ("day", -1),
    "anteayer": ("day", -2),
    "mañana": ("day", 1),
    "pasado mañana": ("day", 2),
    "la semana pasada": ("week", -1),
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
    # Russian
    "сегодня": ("day", 0),
    "вчера": ("day", -1),
    "позавчера": ("day", -2),
    "завтра": ("day", 1),
    "послезавтра": ("day", 2),
    "на прошлой неделе": ("week", -1),
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
    "昨天": ("day", -1),
    "前天": ("day", -2),
    "明天": ("day", 1),
    "后天": ("day", 2),
    "昨晚": ("day", -1),
    "今晚": ("day", 0),
    "上周": ("week", -1),
    "上星期": ("week", -1),
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
    "来年": ("year", 1),
}

SET_PHRASE_KEYS = (
    *("heut", "gestern", "morgen", "woche", "monat", "jahr"),
    *("aujourd", "hier", "demain", "semaine", "mois", "l'an", "l’an", "année"),
    *("hoy", "ayer", "mañana", "semana", "mes", "año"),
    *("сегодня", "вчера", "завтра", "неделе", "месяце", "году"),
)
"""A piece of every set phrase: where none is in a text, no phrase is."""

_UNSPACED_DISTANCE = (
    r"(?P<count>\d{1,3}|[一两二三四五六七八九十几数])(?P<unit>个月|か月|ヶ月|週間|星期|天|日|周|年)"
)

AGO_FRAMES = (
    ("vor ", r"\bvor (?P<count>COUNT) (?P<unit>UNIT)\b"),
    ("il y a ", r"\bil y a (?P<count>COUNT) (?P<unit>UNIT)\b"),
    ("hace ", r"\bhace (?P<count>COUNT) (?P<unit>UNIT)\b"),
    (" назад", r"\b(?:(?P<count>COUNT) )?(?P<unit>UNIT) назад\b"),
    ("前", _UNSPACED_DISTANCE + "前"),
)
AHEAD_FRAMES = (
    (
        "in ",
        r"\bin (?P<count>einem|einer|zwei|drei|vier|fünf|\d{1,3}) (?P<unit>tag|tagen|woche|wochen|monat|"
        r"jahr)\b",
    ),
    ("dans ", r"\bdans (?P<count>COUNT) (?P<unit>UNIT)\b"),
    ("dentro de ", r"\bdentro de (?P<count>COUNT) (?P<unit>UNIT)\b"),
    ("через ", r"\bчерез (?:(?P<count>COUNT) )?(?P<unit>UNIT)\b"),
    ("后", _UNSPACED_DISTANCE + "后"),
    ("後", _UNSPACED_DISTANCE + "後"),
)
"""A word that shows the frame may be there, and the frame; COUNT and UNIT stand for the words above."""
