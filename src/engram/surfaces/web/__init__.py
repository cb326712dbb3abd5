"""
The page that `engram serve` shows at `/`.

Plain HTML in `templates/`, its own style sheet in `static/`, no scripts: every action is a form, so the page
works in any browser and the strictest security policy holds. Strangers' styles and fonts are never loaded.
"""
