"""
The letters and small words by which the pieces of a text are told apart.

Used by `token_pieces` only; holds lists and patterns and decides nothing. The languages are those that
vocabularies treat alike, not those that people would group: what matters is how often a word is cut.
"""

from __future__ import annotations

from typing import Final

from engram.text.lazy import lazy

_SMALL_ENGLISH = """
the and you with this that are your they from not of it my we was have is what which his her their
been would should there when who how did does our can has i to if else for return self def import
class const function true false none null value string use used file be or by an
"""
ENGLISH_WORDS: Final = frozenset(_SMALL_ENGLISH.split())
"""Small words, and those of programs: what comes after them is English until another language speaks."""

_SMALL_NEAR = """
der das und ist nicht ein eine ich mit auf von zu sich auch dem wir sie im wird werden oder als kann
bei nach le la les des et est une dans que qui pas sur avec je vous nous du au ou ne il en un ce
cette par el los las por para con es se del lo su como una pero mi al puede di che non sono della
gli nel si da ha ma dei os uma com dos em um ao mais foi het een niet voor dat zijn op ik maar te
wordt naar bij mijn hij geen och att som ett det inte av till eller og er ikke jeg af den hvis skal
yang dan untuk dengan ini tidak dari pada dalam saya atau jika bagi els amb unha
"""
NEAR_WORDS: Final = frozenset(_SMALL_NEAR.split())
"""Small words of languages that vocabularies know nearly as well as English."""

_SMALL_FAR = """
nie jest w z ze v k ve bir bu ile veya olarak ja ei tai ole voi jos kui az egy nem hogy vagy nu cu
pe sau este din pentru dla czy albo nebo bude ako alebo ali za ki na ili koji koje od kao nije ang
ng mga ay ya wa kwa ni eta edo ez yn y yr mae ar agus seo gan gus ir yra kai jei vai tiek uz kas nuk
nga duhet eo ket ur ukuba ngaba bya kia kei uchun ushbu va ekki sem til fyrir ny tsy estas kaj ji
"""
FAR_WORDS: Final = frozenset(_SMALL_FAR.split())
"""Small words of languages whose words are cut into many pieces."""

FAR_LETTERS = lazy(r"[\u0100-\u024f]|ää|öö|yy|uu|ii|kk|sz|cz")
"""What is written in such languages and hardly in others."""

COMMON_HAN: Final = frozenset(
    "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用道行所"
    "然家种事成方多经么去法学如都同现当没动面起看定天分还进好小部其些主样理心她本前开但因只从想实日者意无力它与长"
    "把机十民第公此已工使情明性知全三又关点正业外将两高间由问很最重并物手应向头文体政美相见被利什二等产或新己制身果"
    "加西月话合回特代内信表化老给世位次度门任常先海通教儿原东声提立及比员解水名真论处走义各入几口认条平系气题活更别"
    "打女变四总何电数安少报才结反受目太量再感建务做接必场件计管期市直资命山金指统区保至形社便空决治展科司五基书非则"
)
"""The characters that are written most: vocabularies hold many pairs of them."""

TRADITIONAL_HAN: Final = frozenset(
    "們個這來時說會過對開關點還經電腦東車見長門問間麼樣學國應當後從發現實與為無將兩業產進動體報數處變結給務讓請誰錢買賣"
    "聽讀寫書語話課題難雖歡愛認識記憶師員號碼機場飛鐵銀錯誤單雙頭風飯館醫藥類級統計劃選項檔設備網絡徑顯輸執編輯構環創"
    "測試視圖標簽種義輕運連邊達遠適離權區響須頁預領願養馬驗麗齊龍總線練組終絕繼續維緊據擊擔換損廣彈彎態懷擁擇陽陰際"
)
"""Characters that are written so in Taiwan and Hong Kong only: vocabularies know them less well."""

_LATIN = "A-Za-z\u00aa\u00b5\u00ba\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u036f\u1e00-\u1eff"
_HAN = "\u2e80-\u2fdf\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_KANA = "\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9f"
_HANGUL = "\u1100-\u11ff\u3130-\u318f\uac00-\ud7ff"
_LETTERS = (
    "\u0370-\u10ff\u1200-\u1dff\u1f00-\u1fff\u2c00-\u2dff\u3100-\u312f\ua000-\uabff\ufb00-\ufdff\ufe70-\ufeff"
    "\U00010000-\U0001cfff\U0001e000-\U0001efff\U000e0000-\U0010ffff"
)
PIECE = lazy(
    rf"(?P<word> ?[{_LATIN}]+)|(?P<blank>[^\S\r\n]+)|(?P<mark>[!-/:-@\[-`{{-~]+)|(?P<digits>\d+)"
    rf"|(?P<line>[\r\n]+)|(?P<han>[{_HAN}]+)|(?P<kana>[{_KANA}]+)|(?P<hangul>[{_HANGUL}]+)"
    rf"|(?P<letters>[{_LETTERS}]+)|(?P<sign>(?s:.))"
)
PUNCTUATION = lazy(r"[\u2000-\u206f\u3000-\u303f\uff00-\uffef]")
NOT_RUSSIAN = lazy(r"[^\u0410-\u0449\u044b-\u044f\u0401\u0451]")
RUSSIAN = lazy(r"[ыэёЫЭЁ]|^(?:что|как|мы|вы|при|или|для|чтобы|было|если|когда|только|уже|ещё)$")
SCRIPTS: Final = (
    (0x370, "greek"), (0x400, "cyrillic"), (0x530, "armenian"), (0x590, "hebrew"), (0x600, "arabic"),
    (0x700, "rare"), (0x900, "devanagari"), (0x980, "bengali"), (0xA00, "gurmukhi"), (0xA80, "gujarati"),
    (0xB00, "rare"), (0xB80, "tamil"), (0xC00, "telugu"), (0xC80, "kannada"), (0xD00, "malayalam"),
    (0xD80, "sinhala"), (0xE00, "thai"), (0xE80, "rare"), (0x1000, "burmese"), (0x10A0, "georgian"),
    (0x1100, "rare"), (0x1780, "khmer"), (0x1800, "rare"), (0x1F00, "greek"), (0x2C00, "rare"),
    (0xFB1D, "hebrew"), (0xFB50, "arabic"), (0xFEFF, "rare"),
)  # fmt: skip
"""Where each script begins; the rare ones are counted by their bytes."""
SCRIPT_STARTS: Final = tuple(start for start, _ in SCRIPTS)
