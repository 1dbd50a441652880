r"""Which TeX is shown as a formula: only what is made of commands that do nothing but set mathematics.

A list of what is allowed, not of what is forbidden: MathJax has commands that make links, load code, style the page or
define further commands (`\href`, `\require`, `\style`, `\mmlToken`, `\def`), and front ends differ in which are
on. A formula with any other command is shown as code, so nothing is lost.
"""

from __future__ import annotations

import re

_COMMAND = re.compile(r"\\([A-Za-z]+)")
_ENVIRONMENT = re.compile(r"\\(?:begin|end)[ ]?\{([A-Za-z]*\*?)\}")
_LONGEST = 2000


def is_harmless(tex: str) -> bool:
    """Whether a formula may be handed to the front end: known commands, known environments, no dollar of its own."""
    if len(tex) > _LONGEST or "$" in tex or not tex.strip():
        return False
    environments = _ENVIRONMENT.findall(tex)
    if len(environments) != tex.count("\\begin") + tex.count("\\end"):
        return False
    return ENVIRONMENTS.issuperset(environments) and COMMANDS.issuperset(_COMMAND.findall(tex))


ENVIRONMENTS = frozenset(
    """align align* aligned alignedat array Bmatrix Bmatrix* bmatrix bmatrix* cases dcases eqnarray eqnarray* equation
    equation* gather gather* gathered matrix matrix* multline multline* pmatrix pmatrix* rcases smallmatrix split
    subarray Vmatrix Vmatrix* vmatrix vmatrix*""".split()
)

_LETTERS = """aleph alpha beta beth chi daleth delta digamma ell epsilon eta eth gamma gimel hbar hslash imath iota
    jmath kappa lambda mho mu nu omega omicron partial phi pi psi rho sigma tau theta upsilon varepsilon varkappa
    varphi varpi varrho varsigma vartheta wp xi zeta Delta Gamma Im Lambda Omega Phi Pi Psi Re Sigma Theta Upsilon
    Xi"""
_OPERATORS = """amalg ast bigcap bigcirc bigcup bigodot bigoplus bigotimes bigsqcup bigtriangledown bigtriangleup
    biguplus bigvee bigwedge boxdot boxminus boxplus boxtimes bullet cap cdot cdotp circ circledast circledcirc coprod
    cup cupdot curlyvee curlywedge dagger ddagger diamond div divideontimes iiint iiiint iint int intop land ldotp lhd
    lor ltimes mp odot oint ominus oplus oslash otimes pm prod rhd rtimes setminus smallsetminus sqcap sqcup star sum
    times triangle triangledown triangleleft triangleright uplus vee wedge wr"""
_RELATIONS = """approx approxeq asymp backepsilon backsim because between bowtie bumpeq circeq cong coloneqq dashv doteq
    doteqdot equiv eqsim eqslantgtr eqslantless fallingdotseq frown ge geq geqq geqslant gg ggg gneq gneqq gt gtrapprox
    gtreqless gtrless gtrsim in le leq leqq leqslant lessapprox lesseqgtr lessgtr lesssim ll lll lneq lneqq lt mid
    models ne neg neq ngeq ngtr ni nleq nless nmid not notin nparallel nprec nsim nsubseteq nsucc nsupseteq owns
    parallel perp pitchfork prec preccurlyeq preceq precsim propto risingdotseq shortmid sim simeq smile sqsubset
    sqsubseteq sqsupset sqsupseteq subset subseteq subseteqq subsetneq succ succcurlyeq succeq succsim supset supseteq
    supseteqq supsetneq therefore thickapprox thicksim trianglelefteq trianglerighteq triangleq varpropto vdash vDash
    Vdash"""
_ARROWS = """Downarrow Leftarrow Leftrightarrow Longleftarrow Longleftrightarrow Longrightarrow Rightarrow Uparrow
    Updownarrow downarrow gets hookleftarrow hookrightarrow iff impliedby implies leadsto leftarrow leftharpoondown
    leftharpoonup leftrightarrow leftrightarrows longleftarrow longleftrightarrow longmapsto longrightarrow mapsto
    nearrow nleftarrow nrightarrow nwarrow rightarrow rightharpoondown rightharpoonup rightleftharpoons
    rightrightarrows rightsquigarrow searrow swarrow to twoheadrightarrow uparrow updownarrow xleftarrow
    xrightarrow"""
_SYMBOLS = """And Box Diamond S angle backprime backslash bot cdots checkmark clubsuit complement copyright ddots degree
    diamondsuit dots dotsb dotsc dotsi dotsm dotso emptyset exists flat forall heartsuit infty ldots lnot measuredangle
    nabla natural nexists prime qquad quad sharp spadesuit sphericalangle square surd top varnothing vdots yen"""
_DELIMITERS = """Big Bigg Biggl Biggm Biggr Bigl Bigm Bigr Vert big bigg biggl biggm biggr bigl bigm bigr lVert langle
    lbrace lbrack lceil left lfloor lgroup llcorner lmoustache lrcorner lvert middle rVert rangle rbrace rbrack rceil
    rfloor rgroup right rmoustache rvert ulcorner urcorner vert"""
_STRUCTURE = """atop begin binom boxed cfrac choose dbinom ddot dddot dfrac displaylimits dot end frac genfrac hat hline
    acute bar breve check grave limits mathring mathstrut nolimits nonumber notag overbrace overleftarrow
    overleftrightarrow overline overrightarrow overset overparen phantom hphantom vphantom root sqrt stackrel strut
    substack tag tbinom tfrac tilde underbrace underline underset underparen vec widehat widetilde bmod mod pmod pod
    over"""
_FUNCTIONS = """Pr arccos arcsin arctan arg cos cosh cot coth csc deg det dim exp gcd hom inf injlim ker lg lim liminf
    limsup ln log max min operatorname projlim sec sin sinh sup tan tanh varinjlim varliminf varlimsup varprojlim"""
_STYLE = """bf bm boldsymbol cal displaystyle it mathbb mathbf mathcal mathfrak mathit mathnormal mathrm mathscr mathsf
    mathtt mathbin mathclose mathinner mathop mathopen mathord mathpunct mathrel rm scriptscriptstyle scriptstyle sf
    text textbf textit textrm textsf texttt textstyle tt"""

COMMANDS = frozenset(
    " ".join(
        (
            _LETTERS,
            _OPERATORS,
            _RELATIONS,
            _ARROWS,
            _SYMBOLS,
            _DELIMITERS,
            _STRUCTURE,
            _FUNCTIONS,
            _STYLE,
        )
    ).split()
)
