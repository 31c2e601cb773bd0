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

// Between returns the Levenshtein distance of two texts: the number of characters to insert, delete
// or replace.
func Between(a, b string) int {
	from, to := []rune(a), []rune(b)
	row := make([]int, len(to)+1) // the distances of a beginning of from to all beginnings of to
	for j := range row {
		row[j] = j
	}
	for i, x := range from {
		diagonal := row[0]
		row[0] = i + 1
		for j, y := range to {
			replaced := diagonal
			if x != y {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, diagonal+1, row[j]+1)
		}
	}
	return row[len(to)]
}
