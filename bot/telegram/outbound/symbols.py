"""What LaTeX macros without an argument look like in plain Unicode."""

# ruff: noqa: RUF001 - signs that look like letters are what the table is about
from __future__ import annotations

from types import MappingProxyType

_SIGNS = """
alpha α beta β gamma γ delta δ epsilon ϵ varepsilon ε zeta ζ eta η theta θ vartheta ϑ iota ι kappa κ varkappa ϰ
lambda λ mu μ nu ν xi ξ omicron ο pi π varpi ϖ rho ρ varrho ϱ sigma σ varsigma ς tau τ upsilon υ phi φ varphi ϕ chi χ
psi ψ omega ω Gamma Γ Delta Δ Theta Θ Lambda Λ Xi Ξ Pi Π Sigma Σ Upsilon Υ Phi Φ Psi Ψ Omega Ω
pm ± mp ∓ times × div ÷ cdot · ast ∗ star ⋆ circ ∘ bullet • oplus ⊕ ominus ⊖ otimes ⊗ oslash ⊘ odot ⊙ dagger †
ddagger ‡ cap ∩ cup ∪ uplus ⊎ sqcap ⊓ sqcup ⊔ vee ∨ lor ∨ wedge ∧ land ∧ setminus ∖ smallsetminus ∖ wr ≀ diamond ⋄
amalg ⨿ bigtriangleup △ bigtriangledown ▽ triangleleft ◁ triangleright ▷ ltimes ⋉ rtimes ⋊
leq ≤ le ≤ geq ≥ ge ≥ neq ≠ ne ≠ ll ≪ gg ≫ equiv ≡ sim ∼ simeq ≃ approx ≈ cong ≅ propto ∝ asymp ≍ doteq ≐ prec ≺
succ ≻ preceq ⪯ succeq ⪰ leqslant ⩽ geqslant ⩾ lesssim ≲ gtrsim ≳ subset ⊂ supset ⊃ subseteq ⊆ supseteq ⊇
subsetneq ⊊ supsetneq ⊋ sqsubset ⊏ sqsupset ⊐ sqsubseteq ⊑ sqsupseteq ⊒ in ∈ notin ∉ ni ∋ mid ∣ nmid ∤ parallel ∥
nparallel ∦ perp ⊥ vdash ⊢ dashv ⊣ models ⊨ vDash ⊨ Vdash ⊩ bowtie ⋈ triangleq ≜ coloneqq ≔ approxeq ≊ smile ⌣ frown ⌢
to → gets ← leftarrow ← rightarrow → uparrow ↑ downarrow ↓ leftrightarrow ↔ updownarrow ↕ Leftarrow ⇐ Rightarrow ⇒
Uparrow ⇑ Downarrow ⇓ Leftrightarrow ⇔ Updownarrow ⇕ longleftarrow ⟵ longrightarrow ⟶ longleftrightarrow ⟷
Longleftarrow ⟸ Longrightarrow ⟹ Longleftrightarrow ⟺ implies ⟹ impliedby ⟸ iff ⟺ mapsto ↦ longmapsto ⟼
hookleftarrow ↩ hookrightarrow ↪ leftharpoonup ↼ rightharpoonup ⇀ rightleftharpoons ⇌ nearrow ↗ searrow ↘ swarrow ↙
nwarrow ↖ leadsto ⇝ rightsquigarrow ⇝ twoheadrightarrow ↠ circlearrowleft ↺ circlearrowright ↻
sum ∑ prod ∏ coprod ∐ int ∫ iint ∬ iiint ∭ oint ∮ bigcap ⋂ bigcup ⋃ bigvee ⋁ bigwedge ⋀ bigoplus ⨁ bigotimes ⨂
bigodot ⨀ biguplus ⨄ bigsqcup ⨆
infty ∞ partial ∂ nabla ∇ forall ∀ exists ∃ nexists ∄ neg ¬ lnot ¬ emptyset ∅ varnothing ∅ aleph ℵ beth ℶ hbar ℏ ell ℓ
wp ℘ Re ℜ Im ℑ imath ı jmath ȷ angle ∠ measuredangle ∡ triangle △ square □ Box □ blacksquare ■ blacktriangle ▲
lozenge ◊ clubsuit ♣ diamondsuit ♢ heartsuit ♡ spadesuit ♠ flat ♭ natural ♮ sharp ♯ checkmark ✓ prime ′ backprime ‵
top ⊤ bot ⊥ surd √ degree ° therefore ∴ because ∵ complement ∁ bigstar ★ QED ∎ blacklozenge ⧫ eth ð mho ℧ Bbbk 𝕜
ldots … dots … cdots ⋯ vdots ⋮ ddots ⋱ dotsc … dotsb ⋯ lbrace { rbrace } lbrack [ rbrack ] langle ⟨ rangle ⟩ lceil ⌈
rceil ⌉ lfloor ⌊ rfloor ⌋ vert | Vert ‖ lvert | rvert | lVert ‖ rVert ‖ backslash \\ colon : S § P ¶ copyright ©
pounds £ euro € textdegree ° ae æ AE Æ oe œ OE Œ aa å AA Å o ø O Ø l ł L Ł ss ß i ı j ȷ
textbackslash \\ textasciitilde ~ textasciicircum ^ textless < textgreater > textbar | textunderscore _ lt < gt >
"""  # noqa: E501
_WORDS = """
sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh coth log ln lg exp lim limsup liminf max min sup inf det
dim ker deg gcd hom arg Pr mod bmod argmax argmin rank tr diag sgn
"""  # noqa: E501
_NOTHING = """
left right big Big bigg Bigg bigl bigr Bigl Bigr biggl biggr Biggl Biggr middle limits nolimits displaystyle textstyle
scriptstyle scriptscriptstyle nonumber notag hline hfill centering rm bf it
"""  # noqa: E501

SIGNS = MappingProxyType(dict(zip(_SIGNS.split()[::2], _SIGNS.split()[1::2], strict=True)))
WORDS = frozenset(_WORDS.split())
NOTHING = frozenset(_NOTHING.split())
BLANKS = MappingProxyType(
    {",": " ", ";": " ", ":": " ", " ": " ", "!": "", "quad": "  ", "qquad": "    ", "\\": "\n"}
)
MARKS = MappingProxyType(
    {
        "hat": "\u0302", "widehat": "\u0302", "check": "\u030c", "tilde": "\u0303", "widetilde": "\u0303",  # noqa: E501
        "acute": "\u0301", "grave": "\u0300", "dot": "\u0307", "ddot": "\u0308", "breve": "\u0306", "bar": "\u0304",  # noqa: E501
        "vec": "\u20d7", "overrightarrow": "\u20d7", "mathring": "\u030a", "overline": "\u0305",
        "underline": "\u0332", "cancel": "\u0338", "not": "\u0338",
    }
)  # fmt: skip
"""Accents: each goes on the last character of its argument, never on every one."""

_DIGITS = "0123456789+-=()"
RAISED = MappingProxyType(
    dict(zip(_DIGITS, "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾", strict=True))
    | dict(zip("abcdefghijklmnoprstuvwxyz", "ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ", strict=True))
    | dict(zip("ABDEGHIJKLMNOPRTUVW′*∘ ", "ᴬᴮᴰᴱᴳᴴᴵᴶᴷᴸᴹᴺᴼᴾᴿᵀᵁⱽᵂ′*° ", strict=True))
)
LOWERED = MappingProxyType(
    dict(zip(_DIGITS, "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎", strict=True))
    | dict(zip("aehijklmnoprstuvxβγρφχ ", "ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓᵦᵧᵨᵩᵪ ", strict=True))
)
_DOUBLE = {"C": "ℂ", "H": "ℍ", "N": "ℕ", "P": "ℙ", "Q": "ℚ", "R": "ℝ", "Z": "ℤ"}
DOUBLE = MappingProxyType({chr(65 + n): chr(0x1D538 + n) for n in range(26)} | _DOUBLE | {"1": "𝟙"})
"""Blackboard letters."""
