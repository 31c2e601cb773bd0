package model

import (
	"testing"
	"time"
)

func TestQuantitiesAreWrittenAsInDirectives(t *testing.T) {
	for want, got := range map[string]string{
		"1KiB":    KiB.String(),
		"1536KiB": (1536 * KiB).String(),
		"512MiB":  (512 * MiB).String(),
		"1024GiB": (1024 * GiB).String(),
		"10/s":    Rate{10, time.Second}.String(),
		"100/m":   Rate{100, time.Minute}.String(),
		"1/h":     Rate{1, time.Hour}.String(),
		"":        Rate{}.String(),
	} {
		if got != want {
			t.Errorf("%q is written %q", want, got)
		}
	}
}
