// Package editdistance finds the name that a misspelt one was meant for.
package editdistance

// Nearest returns the name with the least distance, "" if no distance is at most most. Of equally
// near names it returns the first in alphabetical order.
func Nearest(misspelt string, names []string, most int) string {
	best, found := most+1, ""
	for _, name := range names {
		d := Between(misspelt, name)
		if d < best || d == best && found != "" && name < found {
			best, found = d, name
		}
	}
	return found
}

// Between returns the least number of edits that make one text the other: a character inserted,
// deleted or replaced, or two neighbours swapped (optimal string alignment).
func Between(a, b string) int {
	from, to := []rune(a), []rune(b)
	// before, row and next are the distances of three beginnings of from to all beginnings of to.
	before, row, next := make([]int, len(to)+1), make([]int, len(to)+1), make([]int, len(to)+1)
	for j := range row {
		row[j] = j
	}
	for i, x := range from {
		next[0] = i + 1
		for j, y := range to {
			replaced := row[j]
			if x != y {
				replaced++
			}
			next[j+1] = min(replaced, next[j]+1, row[j+1]+1)
			if i > 0 && j > 0 && x == to[j-1] && from[i-1] == y {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, row, next = row, next, before
	}
	return row[len(to)]
}
