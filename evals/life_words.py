"""
The words that a generated life is made of: who there is, what can be said of them, and small talk.

Read by `evals.life`; holds no logic. Every value stands in one pool only and is handed out once, so a text
that holds a value speaks of one fact and no other: that is how the ground truth is found again in whatever
the product made of the sentences. No template names a day relative to now, since the product would write out
a date that might be somebody's birthday.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribute:
    """Something that is true of a person or a project: how it is asked, said, changed and set right."""

    name: str
    question: str
    says: tuple[str, ...]
    changes: tuple[str, ...] = ()
    """How a new value is told; none for what does not change."""
    pool: str = ""
    """Whose values it takes; its own if it is not said."""


def _listed(words: str) -> list[str]:
    return [word.strip() for word in words.split(",")]


MINE = "I"
"""Who the sentences in the first person are about."""
PEOPLE = _listed(
    "Anna, Nora, Tobias, Lucia, Ahmed, Greta, Hiroshi, Samuel, Ingrid, Pablo, Wanda, Felix, Yusuf, Marta"
)
PROJECTS = _listed(
    "Falcon, Atlas, Juniper, Borealis, Cobalt, Meridian, Osprey, Tundra, Saffron, Zephyr, Granite, Lagoon"
)

OF_PEOPLE = (
    Attribute(
        name="city",
        question="Where does {who} live?",
        says=(
            "{who} lives in {value}.",
            "{who}'s home is in {value}.",
            "{who} is living in {value}.",
            "{who} has a flat in {value}.",
            "By the way, {who} lives in {value}.",
            "{who} resides in {value}, as far as I know.",
        ),
        changes=(
            "{who} moved from {old} to {value}.",
            "{who} has moved to {value}.",
            "{who} no longer lives in {old}, it is {value} now.",
        ),
    ),
    Attribute(
        name="employer",
        question="Who does {who} work for?",
        says=(
            "{who} works at {value}.",
            "{who} works for {value}.",
            "{who}'s employer is {value}.",
            "{who} has a job at {value}.",
            "{who} is employed by {value}.",
        ),
        changes=(
            "{who} left {old} and now works at {value}.",
            "{who} works for {value} now.",
            "{who} switched from {old} to {value}.",
        ),
    ),
    Attribute(
        name="car",
        question="What car does {who} drive?",
        says=(
            "{who} drives a {value}.",
            "{who}'s car is a {value}.",
            "{who} owns a {value}.",
            "The car that {who} drives is a {value}.",
        ),
        changes=("{who} sold the {old} and drives a {value} now.", "{who} drives a {value} now."),
    ),
    Attribute(
        name="drink",
        question="What does {who} like to drink best?",
        says=(
            "{who}'s favourite drink is {value}.",
            "{who} prefers {value} to every other drink.",
            "{who} loves {value}.",
            "What {who} likes to drink best is {value}.",
        ),
        changes=("{who} gave up {old} and prefers {value} now.", "{who}'s favourite drink is {value} now."),
    ),
    Attribute(
        name="allergy",
        question="What is {who} allergic to?",
        says=(
            "{who} is allergic to {value}.",
            "{who} has a {value} allergy.",
            "Careful, {who} cannot eat {value}, it is an allergy.",
            "{who}'s allergy is against {value}.",
        ),
    ),
    Attribute(
        name="instrument",
        question="Which instrument does {who} play?",
        says=(
            "{who} plays the {value}.",
            "{who}'s instrument is the {value}.",
            "{who} has played the {value} since childhood.",
            "{who} practises the {value} every evening.",
        ),
    ),
    Attribute(
        name="birthday",
        question="When is {who}'s birthday?",
        says=(
            "{who}'s birthday is on {value}.",
            "{who} was born on {value}.",
            "{who} celebrates a birthday on {value}.",
        ),
        pool="days",
    ),
    Attribute(
        name="pet",
        question="What is {who}'s dog called?",
        says=(
            "{who} has a dog called {value}.",
            "{who}'s dog is called {value}.",
            "The name of {who}'s dog is {value}.",
        ),
    ),
)

OF_ME = (
    Attribute(
        name="city",
        question="Where do I live?",
        says=(
            "I live in {value}.",
            "My home is in {value}.",
            "I am based in {value}.",
            "I'm living in {value}.",
        ),
        changes=("I moved from {old} to {value}.", "I don't live in {old} any more, I live in {value} now."),
    ),
    Attribute(
        name="employer",
        question="Who do I work for?",
        says=(
            "I work at {value}.",
            "I work for {value}.",
            "My employer is {value}.",
            "I have a job at {value}.",
        ),
        changes=("I left {old} and now work at {value}.", "I work for {value} now."),
    ),
    Attribute(
        name="editor",
        question="Which editor do I use?",
        says=(
            "I use {value} as my editor.",
            "My editor is {value}.",
            "I write all my code in {value}.",
            "My favourite editor is {value}.",
        ),
        changes=("I switched from {old} to {value} as my editor.", "I use {value} as my editor now."),
    ),
    Attribute(
        name="drink",
        question="What do I like to drink best?",
        says=("My favourite drink is {value}.", "I love {value}.", "I prefer {value} to every other drink."),
        changes=("I gave up {old} and prefer {value} now.", "My favourite drink is {value} now."),
    ),
    Attribute(
        name="allergy",
        question="What am I allergic to?",
        says=("I am allergic to {value}.", "I have a {value} allergy.", "I can't eat {value}, I'm allergic."),
    ),
)

OF_PROJECTS = (
    Attribute(
        name="database",
        question="Which database does {who} use?",
        says=(
            "{who} uses {value} as its database.",
            "The database of {who} is {value}.",
            "{who} stores everything in {value}.",
            "{who} runs on {value} for storage.",
        ),
        changes=("{who} migrated from {old} to {value}.", "The database of {who} is {value} now."),
    ),
    Attribute(
        name="tongue",
        question="Which language is {who} written in?",
        says=(
            "{who} is written in {value}.",
            "The code of {who} is {value}.",
            "The programming language of {who} is {value}.",
            "We write {who} in {value}.",
        ),
        changes=("We rewrote {who} in {value} instead of {old}.", "{who} is written in {value} now."),
    ),
    Attribute(
        name="deadline",
        question="When is the deadline of {who}?",
        says=(
            "The deadline of {who} is {value}.",
            "{who} is due on {value}.",
            "{who} must be finished by {value}.",
            "Remember that {who} has to ship on {value}.",
        ),
        changes=(
            "The deadline of {who} was moved from {old} to {value}.",
            "The deadline of {who} is now {value}.",
        ),
        pool="days",
    ),
    Attribute(
        name="lead",
        question="Who leads {who}?",
        says=(
            "{who} is led by {value}.",
            "The lead of {who} is {value}.",
            "{value} leads {who}.",
            "{value} is in charge of {who}.",
        ),
        changes=("{value} took over {who} from {old}.", "The lead of {who} is {value} now."),
    ),
    Attribute(
        name="server",
        question="Where is {who} deployed?",
        says=(
            "{who} is deployed on {value}.",
            "We deploy {who} to {value}.",
            "{who} runs on the server {value}.",
            "The server of {who} is {value}.",
        ),
        changes=("{who} was moved from {old} to {value}.", "{who} is deployed on {value} now."),
    ),
    Attribute(
        name="branch",
        question="Which branch do releases of {who} come from?",
        says=(
            "Releases of {who} come from the branch {value}.",
            "{who} is released from {value}.",
            "We always cut {who}'s releases from {value}.",
        ),
    ),
    Attribute(
        name="client",
        question="Who is the client of {who}?",
        says=(
            "The client of {who} is {value}.",
            "{who} is built for {value}.",
            "{value} pays for {who}.",
            "We are building {who} for {value}.",
        ),
    ),
)

_MONTHS = _listed(
    "January, February, March, April, May, June, July, August, September, October, November, December"
)

VALUES: dict[str, list[str]] = {
    "city": _listed(
        "Oslo, Bergen, Lisbon, Porto, Vienna, Graz, Munich, Hamburg, Leipzig, Prague, Brno, "
        "Warsaw, Gdansk, Madrid, Seville, Valencia, Rome, Turin, Naples, Bologna, Paris, Lyon, "
        "Nantes, Toulouse, London, Leeds, Bristol, Glasgow, Dublin, Cork, Chicago, Boston, "
        "Denver, Seattle, Austin, Toronto, Montreal, Kyoto, Osaka, Sapporo, Seoul, Sydney, "
        "Perth, Auckland"
    ),
    "employer": _listed(
        "Brightwell, Norvane, Halcyon, Quillmark, Redfern, Silverlake, Tidemark, Umbra Labs, "
        "Vantage, Westmoor, Yarrow, Zenfield, Ashgrove, Blackthorn, Crestline, Dovetail, "
        "Eastgate, Fairmont, Goldcrest, Hawthorne, Ironbridge, Jasper, Kingsley, Larkspur, "
        "Millstone, Northwind, Oakridge, Pinehurst, Quarry Bank, Rosewood, Stonegate, Thornbury, "
        "Underhill, Valemont, Whitby, Longacre, Marlowe, Pemberton, Radcliffe, Sheffield Arms"
    ),
    "car": _listed(
        "Volvo, Saab, Fiat, Peugeot, Renault, Skoda, Toyota, Honda, Mazda, Subaru, Nissan, "
        "Hyundai, Kia, Tesla, Porsche, Audi, Volkswagen, Opel, Citroen, Dacia, Suzuki, Jeep, "
        "Chevrolet, Cadillac, Lexus, Bentley, Lancia, Seat, Rover, Jaguar, Mini"
    ),
    "drink": _listed(
        "espresso, green tea, lemonade, apple juice, hot chocolate, oolong, rooibos, cider, "
        "ginger beer, kombucha, mate, cappuccino, tonic water, iced coffee, buttermilk, "
        "tomato juice, chai, elderflower syrup, matcha, horchata, cold brew, peppermint tea, "
        "orange juice, oat milk, mineral water, white tea, cherry juice, cocoa, lassi, kefir"
    ),
    "allergy": _listed(
        "peanuts, shellfish, hazelnuts, sesame, celery, mustard, soy, lupins, strawberries, "
        "kiwi, walnuts, eggs, wheat, pollen, penicillin, latex, wasps, cashews"
    ),
    "instrument": _listed(
        "piano, cello, clarinet, trumpet, violin, flute, harp, oboe, bassoon, trombone, "
        "accordion, banjo, mandolin, viola, saxophone, organ, tuba, ukulele"
    ),
    "pet": _listed(
        "Rex, Bella, Milo, Luna, Rocky, Daisy, Bruno, Nala, Simba, Coco, Balu, Pepper, Ziggy, "
        "Otto, Waffles, Biscuit, Pluto, Kira"
    ),
    "editor": ["vim", "Helix", "Emacs", "Zed", "Kakoune", "Sublime Text"],
    "database": _listed(
        "PostgreSQL, MySQL, SQLite, MariaDB, MongoDB, Redis, Cassandra, CockroachDB, DuckDB, "
        "ClickHouse, Neo4j, DynamoDB, CouchDB, InfluxDB, Firebird, Snowflake, BigQuery, TiDB, "
        "ScyllaDB, RethinkDB, Couchbase, Vertica, Greenplum, QuestDB, TimescaleDB, "
        "Elasticsearch, Memcached, LevelDB, RocksDB, FoundationDB"
    ),
    "tongue": _listed(
        "Python, Rust, Kotlin, Java, Scala, Haskell, OCaml, Elixir, Erlang, Ruby, Perl, PHP, "
        "Swift, TypeScript, JavaScript, Clojure, Fortran, COBOL, Ada, Julia, Lua, Dart, Zig, "
        "Nim, Crystal, Prolog, Racket, Groovy"
    ),
    "lead": _listed(
        "Dr. Okafor, Ms. Lindqvist, Mr. Tanaka, Ms. Moreau, Mr. Petrov, Ms. Alvarez, "
        "Mr. Fischer, Ms. Kowalska, Mr. Rossi, Ms. Haddad, Mr. Nyberg, Ms. Costa, Mr. Murphy, "
        "Ms. Novak, Mr. Bergstrom, Ms. Dubois, Mr. Santos, Ms. Ivanova, Mr. Keller, Ms. Osei, "
        "Mr. Larsen, Ms. Weber, Mr. Romano, Ms. Singh, Mr. Park, Ms. Jensen"
    ),
    "server": [
        f"{name}-{number:02d}"
        for number, name in product((7, 12, 31), _listed("node, rack, blade, host, edge"))
    ]
    + [f"{name}-{number:02d}" for number, name in product((4, 19, 26), _listed("cluster, vm, pod, metal"))],
    "branch": [
        f"release/{name}"
        for name in _listed("amber, birch, cedar, delta, ember, fjord, glade, hazel, iris, jade, kelp, lily")
    ],
    "client": _listed(
        "Helvetia Rail, Port of Genoa, Museum of Clocks, City Library, Harbour Bank, "
        "Alpine Rescue, Sunrise Clinic, Green Grid, River Police, Polar Institute, "
        "National Opera, Union of Bakers, Northern Ferries"
    ),
    "days": [f"{day} {month}" for day, month in product(range(1, 29), _MONTHS)],
}

SMALL_TALK = (
    "Good morning!", "Thanks, that helps.", "haha", "ok", "See you later.", "How was your weekend?",
    "What a day.", "The bus was late again.", "Can you repeat that?", "It is raining here.",
    "I need a coffee break.", "Never mind.", "Let me think about it.", "Could you make that shorter?",
    "I'm tired after that meeting.", "We had lunch together and it was nice.", "That was a funny film.",
    "What do you think about the news?", "The printer is broken once more.",
    "Sorry, wrong window.", "Lovely weather for a walk.", "Do you know a good joke?", "I slept badly.",
    "The meeting took forever.", "Please try again.", "Great, thank you so much!", "Hm, not sure.",
    "Someone ate my sandwich.", "The train was full again.", "Let's talk about something else.",
)  # fmt: skip
REPLIES = (
    "Sure, happy to help.", "You are welcome!", "Good question, let me see.", "I hope it gets better soon.",
    "Here is a shorter version.", "Take your time.", "Sounds like a plan.", "Is there anything else?",
)  # fmt: skip
LEAD_INS = (
    "",
    "",
    "",
    "",
    "By the way, ",
    "Just so you know: ",
    "Oh, and ",
    "As I said before, ",
    "For the record, ",
)
ECHOES = ("Noted: {said}", "Got it. {said}")
"""How an assistant repeats what it was told."""
CLAIMS = ("{said}", "I think {said}", "Someone told me that {said}")
"""How something that is not true comes up."""
REBUTTALS = ("No, that was wrong. {said}", "Correction: {said}", "Actually, {said}")
"""How it is set right, where it is set right outright."""
