package decode

// The limits that hold where Limits says nothing. encoding/json allows 10,000 levels and
// has no other limit; a tool's arguments need none of that, and what reads them (regular expressions,
// exact arithmetic, a tree in memory) multiplies every byte.
const (
	DefaultBytes    = 16 << 20
	DefaultDepth    = 128
	DefaultValues   = 100_000
	DefaultLevels   = 1_000_000
	DefaultDigits   = 800
	DefaultExponent = 400
)

// Limits bound a document. A field that is zero has its default.
type Limits struct {
	Bytes  int // size of the whole text
	Depth  int // arrays and objects within each other; a scalar alone has depth 0
	Values int // values of all kinds in the whole document: a tree of them takes far more memory than "[1,1,1]"
	// Levels is the depths of all values added up. Whatever keeps the place of each value pays
	// for them: 90,000 wrong items within 127 levels, 350 KiB of text, took a validator 310 MiB.
	Levels int
	Digits int // digits of one number before its exponent; a float64 written out in full has fewer than 800
	// Exponent is the largest absolute value of a written exponent. float64 ends at 308 and begins
	// at -324; exact arithmetic on 1e999999999 would never return.
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
