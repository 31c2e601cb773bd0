package shop

import "testing"

func TestNoPrices(t *testing.T) {
	if _, _, err := Total(nil, true); err != errNone {
		t.Error(err)
	}
}

func TestTotal(t *testing.T) {
	Untested(1)
	for _, test := range []struct {
		prices []int
		member bool
		sum    int
		cheap  bool
	}{
		{[]int{1, 2}, false, 3, true}, {[]int{99, 1}, false, 100, true},
		{[]int{99, 2}, false, 101, false}, {[]int{99, 2}, true, 101, true},
	} {
		sum, cheap, err := Total(test.prices, test.member)
		if sum != test.sum || cheap != test.cheap || err != nil {
			t.Errorf("%v: %d %t %v", test.prices, sum, cheap, err)
		}
	}
}
