package decode

// The defaults of Limits. encoding/json allows 10,000 levels and has no other limit. Arguments of
// tools need much less, and their readers (regular expressions, exact arithmetic, a tree in
// memory) multiply every byte.
const (
	DefaultBytes    = 16 << 20
	DefaultDepth    = 128
	DefaultValues   = 100_000
	DefaultLevels   = 1_000_000
	DefaultDigits   = 800
	DefaultExponent = 400
)

// Limits of a document. A zero field has its default.
type Limits struct {
	Bytes  int // size of the whole text
	Depth  int // arrays and objects within each other; a scalar alone has depth 0
	Values int // all values of the document: a tree of them needs much more memory than "[1,1,1]"
	// Levels is the sum of the depths of all values. A reader that keeps the place of each value
	// pays for them: 90,000 wrong items within 127 levels, 350 KiB of text, took a validator 310
	// MiB.
	Levels int
	Digits int // of a number before its exponent; a float64 written out has fewer than 800
	// Exponent is the largest absolute value of a written exponent. float64 ends at 308 and begins
	// at -324. Exact arithmetic on 1e999999999 would never return.
	Exponent int
}

func (l Limits) orDefaults() Limits {
	for _, field := range []struct {
		value    *int
		fallback int
	}{
		{&l.Bytes, DefaultBytes},
		{&l.Depth, DefaultDepth},
		{&l.Values, DefaultValues},
		{&l.Levels, DefaultLevels},
		{&l.Digits, DefaultDigits},
		{&l.Exponent, DefaultExponent},
	} {
		if *field.value <= 0 {
			*field.value = field.fallback
		}
	}
	return l
}
