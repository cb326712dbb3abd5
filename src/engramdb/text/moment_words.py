"""Time words of eight languages."""

from __future__ import annotations

from msgspec import Struct

# The words of time of five languages that write spaces: months, weekdays and the small words around them.
#
# Read by `moment_frames`, which makes the same rules for each of them, and by `moment_words`, which
# numbers their months; nothing here computes a date. Small words are kept apart by language, because they
# collide: "in mars" is no month in English, and "a marzo" is in March. Alternatives are patterns, parted
# by a bar.


class Tongue(Struct, frozen=True, kw_only=True):
    """What a language says around its months, weekdays and years."""

    months: str
    """Twelve, in the forms that follow a preposition; a slash between forms of the same month."""
    weekdays: str
    """Seven, from Monday; forms as with the months."""
    seasons: str
    """Four, from spring."""
    in_month: str
    on_day: str
    """Before a date, where the language wants a word there."""
    on_weekday: str
    in_season: str
    in_year: str
    since: str
    before: str
    after: str
    until: str
    between: str
    """Opens a span that `joint` carries on."""
    joint: str
    early: str
    middle: str
    late: str
    last: str
    """Last, in front of a weekday or behind it."""
    coming: str
    current: str
    of_unit: str
    """Of this week, month or year, after the beginning, the middle or the end."""
    last_units: str
    """The last COUNT UNIT, up to now."""
    last_keys: str
    """The words of that phrase of which one is in it always."""
    of: str = ""
    """May stand between a day, its month and its year."""
    year: str = ""
    """May stand before or after the number of a year."""


TONGUES = (
    Tongue(
        months="januar februar märz april mai juni juli august september oktober november dezember",
        weekdays="montag dienstag mittwoch donnerstag freitag samstag/sonnabend sonntag",
        in_month="im",
        on_day="am|vom|den",
        on_weekday="am|vom",
        in_season="im ",
        seasons="frühling/frühjahr sommer herbst winter",
        in_year="im|in",
        since="seit(?: dem| der)?|ab(?: dem)?",
        before="vor(?: dem)?",
        after="nach(?: dem)?",
        until="bis(?: zum| ende)?",
        between="zwischen|von|vom",
        joint="und|bis(?: zum)?",
        early="anfang",
        middle="mitte",
        late="ende",
        last="letzte[nrms]?|vorige[nrms]?|vergangene[nrms]?",
        coming="nächste[nrms]?|kommende[nrms]?",
        current="diese[nrms]?",
        of_unit="(?:des|der) (?P<unit>monats|woche|jahres)",
        last_units=r"(?:in )?(?:den|die|der) letzten (?P<count>COUNT) (?P<unit>UNIT)",
        last_keys="letzten",
        year="jahre?",
    ),
    Tongue(
        months="janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
        weekdays="lundi mardi mercredi jeudi vendredi samedi dimanche",
        in_month="en|au mois de",
        on_day="le",
        on_weekday="ce",
        in_season="au |en ",
        seasons="printemps été automne hiver",
        in_year="en",
        since="depuis(?: le)?|dès(?: le)?|à partir d[eu]",
        before="avant(?: le)?",
        after="après(?: le)?",
        until="jusqu['’](?:en|au|à)|d['’]ici",
        between="entre|de|du",
        joint="et|à|au",
        early="(?:au |le )?début(?: de)?",
        middle="mi-?|(?:au )?milieu(?: de)?",
        late="(?:à )?(?:la )?fin(?: de)?",
        last="dernier|dernière|passé",
        coming="prochain|prochaine",
        current="ce|cet|cette",
        of_unit="(?:du |de la |de l['’])(?P<unit>mois|semaine|année)",
        last_units=(
            r"(?:au cours |pendant |durant )?(?:ces|des|les) (?P<count>COUNT) derni(?:ers|ères) "
            r"(?P<unit>UNIT)"
        ),
        last_keys="derniers dernières",
        year="l['’]année",
    ),
    Tongue(
        months="enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
        weekdays="lunes martes miércoles jueves viernes sábado domingo",
        in_month="en|en el mes de",
        on_day="el",
        on_weekday="el",
        in_season="en ",
        seasons="primavera verano otoño invierno",
        in_year="en",
        since="desde(?: el)?|a partir del?",
        before="antes del?",
        after="después del?",
        until="hasta(?: el)?",
        between="entre|del?",
        joint="y|a|hasta",
        early="a principios de|a comienzos de",
        middle="a mediados de",
        late="a fin(?:al)?(?:es)? de|(?:el )?fin(?:al)? de",
        last="pasado|pasada",
        coming="próximo|próxima|que viene",
        current="este|esta",
        of_unit="(?:del? )?(?:la )?(?P<unit>mes|semana|año)",
        last_units=r"(?:en )?l[oa]s últim[oa]s (?P<count>COUNT) (?P<unit>UNIT)",
        last_keys="últimos últimas",
        of="del?",
        year="(?:el )?año",
    ),
    Tongue(
        months=(
            "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre"
        ),
        weekdays=(
            "lunedì/lunedi martedì/martedi mercoledì/mercoledi giovedì/giovedi venerdì/venerdi "
            "sabato domenica"
        ),
        in_month="a|in|nel mese di",
        on_day="il",
        on_weekday="questo",
        in_season="in |d['’]",
        seasons="primavera estate autunno inverno",
        in_year="nel",
        since="da|dal|a partire da",
        before="prima d(?:i|el)",
        after="dopo(?: il)?",
        until="fino a|fino al|entro(?: il)?",
        between="tra|fra|da|dal",
        joint="e|a|al",
        early="(?:a |all['’])?inizio(?: di)?",
        middle="(?:a )?metà(?: di)?",
        late="(?:a |alla |la )?fine(?: di)?",
        last="scorso|scorsa|passato|passata",
        coming="prossimo|prossima",
        current="questo|questa",
        of_unit="del(?:la |l['’]| )(?P<unit>mese|settimana|anno)",
        last_units=r"(?:negli|nelle|gli|le) ultim[ie] (?P<count>COUNT) (?P<unit>UNIT)",
        last_keys="ultimi ultime",
        year="(?:l['’])?anno",
    ),
    Tongue(
        months=(
            "январь/января/январе/январём/январем февраль/февраля/феврале/февралём/февралем "
            "март/марта/марте/мартом апрель/апреля/апреле/апрелем май/мая/мае/маем "
            "июнь/июня/июне/июнем июль/июля/июле/июлем "
            "август/августа/августе/августом сентябрь/сентября/сентябре/сентябрём/сентябрем "
            "октябрь/октября/октябре/октябрём/октябрем ноябрь/ноября/ноябре/ноябрём/ноябрем "
            "декабрь/декабря/декабре/декабрём/декабрем"
        ),
        weekdays=(
            "понедельник/понедельника вторник/вторника среду/среды четверг/четверга пятницу/пятницы "
            "субботу/субботы воскресенье/воскресенья"
        ),
        in_month="в",
        on_day="в|во",
        on_weekday="в|во",
        in_season="",
        seasons="весной/весну летом/лето осенью/осень зимой/зиму",
        in_year="в",
        since="со?|начиная со?",
        before="до",
        after="после",
        until="по|вплоть до",
        between="между|со?",
        joint="и|по|до",
        early="(?:в )?начал[еа]",
        middle="(?:в )?середин[еы]",
        late="(?:в )?конц[еа]",
        last="прошл(?:ый|ую|ое|ого|ой|ым)",
        coming="следующ(?:ий|ую|ее|его|ей|им)",
        current="эт(?:от|у|о|ой|им)",
        of_unit="(?P<unit>месяца|недели|года)",
        last_units=r"(?:за |в )?последн(?:ие|их|юю|ий) (?:(?P<count>COUNT) )?(?P<unit>UNIT)",
        last_keys="последние последних последнюю последний",
        year="год[уа]?",
    ),
)

RECENTLY = (
    *("neulich", "kürzlich", "in letzter zeit", "vor kurzem", "unlängst"),
    *("récemment", "dernièrement", "ces derniers temps", "ces derniers jours", "l'autre jour"),
    *("recientemente", "últimamente", "hace poco", "el otro día", "estos últimos días"),
    *("recentemente", "ultimamente", "di recente", "negli ultimi tempi", "l'altro giorno"),
    *("недавно", "в последнее время", "на днях"),
)
WEEKENDS = (
    *("am wochenende", "ce week-end", "ce weekend", "le week-end", "el fin de semana"),
    *("nel fine settimana", "nel weekend", "на выходных", "в выходные"),
)


# The words that speak of time: months, weekdays, numbers, units, and the set phrases of eight languages.
#
# Read by the rules of `moments`, which know what to do with them; nothing here computes a date. A set
# phrase is a unit, or a part of a day, and how many of it lie between then and now: yesterday is one day
# back. Only English phrases are rewritten as dates; a sentence in another language keeps its own words.


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
