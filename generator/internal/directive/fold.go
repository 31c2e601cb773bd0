package directive

import (
	"strings"
	"unicode"
)

// lookalikes maps letters of other scripts to the Latin letters that they look like, after
// confusables.txt of Unicode (UTS #39). fold computes other widths and weights.
var lookalikes = reverse(map[rune]string{
	'a': "аαɑᴀᵃꓮꭺ", 'b': "ьвβʙᵇꓐ", 'c': "сϲᴄⅽᶜꓚꮯⲥ", 'd': "ԁɗᴅⅾժᵈꓓꭰ", 'e': "еєεᴇℯᵉꓰꭼ",
	'f': "ғϝꜰᶠꓝ", 'g': "ցɡɢᵍꓖꮐ", 'h': "һнհʜʰꓧꮋ",
	'i': "іιıɩɪⅰⁱꓲꭵⲓ", 'j': "јϳᴊʲꓙ", 'k': "кκᴋᵏꓗꮶⲕ", 'l': "ӏⅼ1ʟℓˡꓡꮮ",
	'm': "мμᴍⅿᵐꓟꮇⲙ", 'n': "пηɴոⁿꓠⲛ", 'o': "оοσօᴏ0ℴᵒꓳⲟ", 'p': "рρᴘᵖꓑꮲⲣ", 'q': "ԛզ", 'r': "гᴦʀʳꓣꭱ",
	's': "ѕꜱˢꓢꮪ", 't': "тτᴛᵗꓔꭲⲧ", 'u': "υսᴜᵘꓴ", 'v': "ѵνᴠⅴᵛꓦꮩ", 'w': "ԝωաᴡʷꓪꮃ", 'x': "хχⅹˣꓫ",
	'y': "уүγʏʸꓬ", 'z': "ᴢᶻꓜ",
})

func reverse(of map[rune]string) map[rune]rune {
	m := map[rune]rune{}
	for latin, others := range of {
		for _, other := range others {
			m[other] = latin
		}
	}
	return m
}

// alphabets are the first and last letters of Latin alphabets in other weights, as code points.
var alphabets = [][2]rune{
	{'⒜', '⒵'}, {'Ⓐ', 'Ⓩ'}, {'ⓐ', 'ⓩ'}, {0x1d400, 0x1d6a3}, {0x1f110, 0x1f129}, {0x1f130, 0x1f149},
	{0x1f150, 0x1f169}, {0x1f170, 0x1f189}, {0x1f1e6, 0x1f1ff},
}

// The classes of characters that are no letters, as fold returns them.
const (
	invisible rune = -1
	space     rune = ' '
	colon     rune = ':'
	separator rune = '-'
	enclosing rune = '(' // a bracket or a quote, which code and quotations have
)

// fold returns what a character looks like: a letter or a digit, Latin and in lower case where
// possible, or the class of another character.
func fold(r rune) rune {
	switch {
	case 'a' <= r && r <= 'z', '2' <= r && r <= '9':
		return r
	case 'A' <= r && r <= 'Z':
		return r + 'a' - 'A'
	case r == ' ', r == '\t':
		return space
	case strings.ContainsRune("()[]{}\"'`“”‘’«»", r):
		return enclosing
	case strings.ContainsRune(":;ː˸։׃܃፡᛫꞉︰∶⁚;؛", r):
		return colon
	case '！' <= r && r <= '～': // full width
		return fold(r - '！' + '!')
	case unicode.In(r, unicode.Cf, unicode.Mn, unicode.Me, unicode.Cc, unicode.Co),
		strings.ContainsRune("\u115f\u1160\u3164\uffa0", r): // Hangul fillers
		return invisible
	case unicode.IsSpace(r), unicode.Is(unicode.Zs, r):
		return space
	}
	for _, a := range alphabets {
		if a[0] <= r && r <= a[1] {
			return 'a' + (r-a[0])%26
		}
	}
	r = unicode.ToLower(r)
	if latin, ok := lookalikes[r]; ok {
		return latin
	}
	if unicode.IsLetter(r) || unicode.IsDigit(r) {
		return r
	}
	return separator
}
