"""
Find people and places in Chinese, Japanese and Korean, where no capital and often no space marks a name.

Called by `mentions`. People are found only where something proves them: "called", an honorific, or a family
name before a verb that people do; places and firms only from a list.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from engram.text.entity_names import name_lists
from engram.text.lazy import lazy
from engram.values import EntityType, Mention

if TYPE_CHECKING:
    from collections.abc import Iterator

_HAS_ANY = lazy("[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]")
_JAPANESE = lazy("(?P<name>[\u4e00-\u9fff々\u30a1-\u30f6ー]{1,6})(?:さん|様|くん|ちゃん|先生)")
_KOREAN = lazy("(?<![\uac00-\ud7af])(?P<name>[\uac00-\ud7af]{2,4}) ?씨(?=[는은가이를을의와과도 ,.]|\\Z)")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_NOT_PEOPLE = _words("皆 客 母 父 兄 姉 祖母 祖父 叔父 叔母 奥 子 神 王 医者 店員 屋 各位 同")
_NOT_CHINESE = _words(
    "高兴 高级 方法 方便 方面 马上 任何 任务 白天 文件 文化 常常 万一 金额 石头 江湖 龙虾 康复 易于 于是 "
    "余下 何时 何人 武器 史上 程序 程度 安全 周末 周一 周二 周三 周四 周五 周六 周日 黄色 白色 金色 张开 "
    "王国 田里 夏天 秦朝"
)


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    lists = name_lists()
    family, given = f"[{lists.family_chinese}]", "[\u4e00-\u9fff]"
    acts = "住|说|是|在|喜欢|告诉|去|来|有|想|的|和|要|做|认为|觉得|负责|写|买|会|不|也|今|昨|明|，|。|,"
    person = re.compile(
        f"(?:叫|名叫|名字是)(?P<called>{family}{given}{{1,2}})(?=[。，,！!、\\s]|\\Z|和|的)"
        f"|(?:\\A|(?<=[。，、！？\\s,和跟给]))(?P<acting>{family}{given}{{1,2}}?)(?={acts})"
    )
    places = re.compile(f"(?:{_any_of(lists.places_unspaced)})(?![人语語字])")
    return person, places, re.compile(_any_of(lists.organisations_unspaced))


def _any_of(names: frozenset[str]) -> str:
    return "|".join(sorted(names, key=len, reverse=True))


def unspaced_mentions(text: str) -> list[tuple[int, int, Mention]]:
    """Return what the text names in these scripts, with where it stands."""
    return list(_find(text)) if _HAS_ANY.search(text) else []


def _find(text: str) -> Iterator[tuple[int, int, Mention]]:
    person, places, firms = _patterns()
    for pattern, kind in ((places, EntityType.LOCATION), (firms, EntityType.ORGANIZATION)):
        for match in pattern.finditer(text):
            yield match.start(), match.end(), Mention(match.group(), kind)
    for match in person.finditer(text):
        group = "called" if match["called"] else "acting"
        if match[group] not in _NOT_CHINESE:
            yield match.start(group), match.end(group), Mention(match[group], EntityType.PERSON)
    for match in _JAPANESE.finditer(text):
        if match["name"] not in _NOT_PEOPLE:
            yield match.start(), match.end(), Mention(match.group(), EntityType.PERSON)
    for match in _KOREAN.finditer(text):
        yield match.start("name"), match.end("name"), Mention(match["name"], EntityType.PERSON)
