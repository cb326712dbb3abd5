"""
Words that tell a place from a person, a technology or a mood.

Used by `pii_people` only; holds lists and nothing else. A capital letter alone decides too little: "we moved
to Lisbon" is about a home and "we moved to Kubernetes" is not, "I'm Max" is a name and "I'm Canadian" is not.
The lists are short on purpose: they settle what grammar leaves open.
"""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


PLACES = _words(
    "africa america asia australia europe scotland england wales ireland afghanistan albania algeria angola argentina "
    "armenia austria azerbaijan bahrain bangladesh belarus belgium bolivia bosnia botswana brazil bulgaria cambodia "
    "cameroon canada chile china colombia congo croatia cuba cyprus czechia denmark ecuador egypt eritrea estonia "
    "ethiopia fiji finland france georgia germany ghana greece guatemala haiti honduras hungary iceland india indonesia "
    "iran iraq israel italy jamaica japan jordan kazakhstan kenya korea kosovo kuwait laos latvia lebanon liberia libya "
    "lithuania luxembourg madagascar malawi malaysia mali malta mexico moldova monaco mongolia montenegro morocco "
    "mozambique myanmar namibia nepal netherlands nicaragua niger nigeria norway oman pakistan palestine panama paraguay "
    "peru philippines poland portugal qatar romania russia rwanda senegal serbia singapore slovakia slovenia somalia spain "
    "sudan sweden switzerland syria taiwan tanzania thailand tunisia turkey uganda ukraine uruguay uzbekistan venezuela "
    "vietnam yemen zambia zimbabwe uk usa us uae alabama alaska arizona arkansas california colorado connecticut delaware "
    "florida hawaii idaho illinois indiana iowa kansas kentucky louisiana maine maryland massachusetts michigan minnesota "
    "mississippi missouri montana nebraska nevada ohio oklahoma oregon pennsylvania tennessee texas utah vermont virginia "
    "washington wisconsin wyoming ontario quebec bavaria catalonia tuscany amsterdam ankara antwerp athens atlanta auckland "
    "austin baghdad baltimore bangalore bangkok barcelona basel beijing beirut belfast belgrade bergen berlin bern bilbao "
    "birmingham bogota bogotá bologna bonn bordeaux boston bratislava brisbane bristol brooklyn brussels bucharest budapest "
    "buenos cairo calgary cambridge cape cardiff casablanca chennai chicago cleveland cologne copenhagen dallas damascus "
    "delhi denver detroit dhaka doha dresden dubai dublin durban edinburgh florence frankfurt gdansk geneva genoa ghent "
    "glasgow gothenburg granada graz guadalajara hague hamburg hannover hanoi havana helsinki hong houston hyderabad "
    "istanbul jakarta jerusalem johannesburg karachi kathmandu kiev kigali kraków krakow kyiv kyoto lagos lausanne leeds "
    "leipzig lima lisbon liverpool ljubljana london los luxembourg lyon madrid malaga manchester manila marseille melbourne "
    "miami milan minneapolis montreal moscow mumbai munich nairobi nantes naples nashville nice oakland orlando osaka oslo "
    "ottawa oxford palermo paris perth philadelphia phoenix pittsburgh portland porto prague pune reykjavik riga rome "
    "rotterdam salzburg san santiago sarajevo seattle seoul seville shanghai sheffield shenzhen sofia stockholm strasbourg "
    "stuttgart sydney taipei tallinn tampa tampere tbilisi tehran tel thessaloniki tirana tokyo toronto toulouse trieste "
    "tunis turin utrecht valencia vancouver venice vienna vilnius warsaw wellington winnipeg york zagreb zurich zürich "
    "münchen köln wien roma milano torino moskau lisboa"
)
"""Countries, US states and large cities, the first word of each, in lower case."""

TECHNOLOGY = _words(
    "airflow android ansible angular apache aws azure bazel bitbucket bun cassandra chrome clickhouse cloudflare confluence "
    "datadog debian deno discord django docker dropbox elasticsearch electron emacs excel express fastapi fedora figma "
    "firebase firefox flask flutter gcp git github gitlab go google gradle grafana graphql helix helm heroku ios java "
    "javascript jenkins jira kafka kotlin kubernetes laravel linear linux macos mariadb maven mongodb mysql neovim netlify "
    "next nginx node notion npm numpy nvidia obsidian oracle outlook pandas php pnpm podman postgres postgresql prometheus "
    "python pytorch rabbitmq rails react redis ruby rust s3 safari salesforce sharepoint slack snowflake spark spring sql "
    "sqlite stripe supabase svelte swift teams tensorflow terraform typescript ubuntu vercel vim vite vue webpack windows "
    "yarn zoom"
)

PEOPLES = _words(
    "african albanian american arab argentinian armenian asian australian austrian bangladeshi belgian black bolivian "
    "brazilian british bulgarian canadian catalan catholic celtic chilean chinese christian colombian croatian cuban czech "
    "danish dutch egyptian english estonian ethiopian european filipino finnish flemish french georgian german greek "
    "hispanic hungarian icelandic indian indonesian iranian iraqi irish israeli italian japanese jewish kenyan korean "
    "latina latino latvian lebanese lithuanian malaysian mexican mormon moroccan muslim nepali nigerian norwegian pakistani "
    "palestinian persian peruvian polish portuguese protestant puerto romanian russian scottish serbian slovak slovenian "
    "somali south southern northern spanish sudanese swedish swiss syrian taiwanese thai tunisian turkish ukrainian "
    "vegan vegetarian venezuelan vietnamese welsh western"
)

NOT_NAMES = _words(
    "a about above actually after agile all already also always an and any anything as asap at available away back based "
    "because before being better big both busy but by ceo certified chief coming cto currently dev director doing done "
    "engineer even every everything excited experiencing feeling fine for from full getting glad going good grateful great "
    "happy have having head here hidden hoping how hungry if in incorrect into is it its just junior later leaving lead "
    "like looking lost lucky making maybe me misspelled missing monday more moving my never new no not nothing now "
    "of off ok okay old on once one only open or our out over part please pretty principal product project proud qa "
    "quite ready really right running senior sick since so software some something sorry spelled staff still sunday super "
    "sure surprised taking team tech that the their then there they thinking this tired to today tomorrow tonight too "
    "trying tuesday under unsure up used using very vp waiting wednesday friday thursday saturday well what when where "
    "who why with without wondering working wrong x yes yesterday yet you your "
    "january february march april june july august september october november december christmas easter "
    "kein keine nicht noch auf ein eine der die das zu un une le la les el los il lo o os em en unknown null none empty"
)
"""Words after "I'm", "my name is" or "my boss is" that begin something other than a name."""
