package decode

import "fmt"

// number reads a number and returns its text. What may follow it is the caller's business.
func (l *lexer) number() ([]byte, *fault) {
	start := l.pos
	if l.doc[l.pos] == '-' {
		l.pos++
	}
	digits := 1
	if l.pos < len(l.doc) && l.doc[l.pos] == '0' {
		l.pos++
	} else if digits = l.digits(); digits == 0 {
		return nil, l.broken("a digit")
	}
	if l.pos < len(l.doc) && l.doc[l.pos] == '.' {
		l.pos++
		n := l.digits()
		if n == 0 {
			return nil, l.broken("a digit")
		}
		digits += n
	}
	exponent := 0
	if l.pos < len(l.doc) && l.doc[l.pos]|0x20 == 'e' {
		l.pos++
		if l.pos < len(l.doc) && (l.doc[l.pos] == '+' || l.doc[l.pos] == '-') {
			l.pos++
		}
		from := l.pos
		if l.digits() == 0 {
			return nil, l.broken("a digit")
		}
		for _, c := range l.doc[from:l.pos] {
			exponent = min(exponent*10+int(c-'0'), l.limits.Exponent+1)
		}
	}
	number := l.doc[start:l.pos]
	if digits > l.limits.Digits {
		return nil, &fault{rule: tooLarge, literal: string(number), says: fmt.Sprintf("has %d digits, more than the maximum %d", digits, l.limits.Digits)}
	}
	if exponent > l.limits.Exponent {
		return nil, &fault{rule: tooLarge, literal: string(number), says: fmt.Sprintf("has an exponent beyond %d", l.limits.Exponent)}
	}
	return number, nil
}

// digits reads a run of digits and returns how many there were.
func (l *lexer) digits() int {
	start := l.pos
	for l.pos < len(l.doc) && isDigit(l.doc[l.pos]) {
		l.pos++
	}
	return l.pos - start
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
