package directive

import (
	"regexp"
	"strconv"
	"time"

	"github.com/mcpgen/mcpgen/generator/internal/model"
)

var (
	sizeText = regexp.MustCompile(`^([1-9][0-9]{0,9})(KiB|MiB|GiB)$`)
	rateText = regexp.MustCompile(`^([1-9][0-9]{0,9})/([smh])$`)
)

// mostCalls bounds counts and rates of calls: more is no bound.
const mostCalls = 1_000_000

var units = map[string]model.Size{"KiB": model.KiB, "MiB": model.MiB, "GiB": model.GiB}

var periods = map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour}

// parseSize reads 512MiB. Ten digits of GiB fit into an int64.
func parseSize(text string) (model.Size, bool) {
	m := sizeText.FindStringSubmatch(text)
	if m == nil {
		return 0, false
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil || n > int64(1)<<62/int64(units[m[2]]) {
		return 0, false
	}
	return model.Size(n) * units[m[2]], true
}

// parseRate reads 10/s.
func parseRate(text string) (model.Rate, bool) {
	m := rateText.FindStringSubmatch(text)
	if m == nil {
		return model.Rate{}, false
	}
	n, err := strconv.Atoi(m[1])
	return model.Rate{Calls: n, Per: periods[m[2]]}, err == nil
}

// Size returns the size of a key, 0 where it is not written.
func (d *Directive) Size(key string) model.Size {
	size, _ := parseSize(d.Text(key))
	return size
}

// Rate returns the rate of a key, the zero one where it is not written.
func (d *Directive) Rate(key string) model.Rate {
	rate, _ := parseRate(d.Text(key))
	return rate
}

// Count returns the whole number of a key, 0 where it is not written.
func (d *Directive) Count(key string) int {
	n, err := strconv.Atoi(d.Text(key))
	if err != nil {
		return 0
	}
	return n
}
