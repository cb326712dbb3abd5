"""
The words of time of five languages that write spaces: months, weekdays and the small words around them.

Read by `moment_frames`, which makes the same rules for each of them, and by `moment_words`, which
numbers their months; nothing here computes a date. Small words are kept apart by language, because they
collide: "in mars" is no month in English, and "a marzo" is in March. Alternatives are patterns, parted
by a bar.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Tongue:
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
