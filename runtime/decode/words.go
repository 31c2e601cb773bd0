package decode

import (
	"fmt"
	"strings"
)

// The words of problems are those of package validator; a test holds the two together.

// shownChoices bounds how many values of an enum a message lists.
const shownChoices = 20

// saysEnum tells the values of an enum, given as JSON text.
func saysEnum(choices []string) string {
	shown := make([]string, len(choices))
	for i, choice := range choices {
		shown[i] = Show(choice)
	}
	switch {
	case len(shown) == 1:
		return "is not " + shown[0]
	case len(shown) > shownChoices:
		return fmt.Sprintf("is not one of %s and %d more", strings.Join(shown[:shownChoices], ", "), len(shown)-shownChoices)
	}
	return "is not one of " + strings.Join(shown, ", ")
}

func saysCount(got int, unit, comparison, bound string, want int) string {
	if got != 1 {
		unit += "s"
	}
	return fmt.Sprintf("has %d %s, %s than the %s %d", got, unit, comparison, bound, want)
}
