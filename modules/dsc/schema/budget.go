package schema

import "encoding/json"

// maxSteps bounds what holding a value against a schema may take: a schema can name
// itself in ways that double the work with each level. A step is about a keyword of a
// schema for one value, and takes less than a microsecond.
const maxSteps = 5_000_000

// A budget is how many of them remain.
type budget struct{ remaining int }

// spend reports whether that many remained.
func (b *budget) spend(steps int) bool {
	b.remaining = max(b.remaining-steps, -1)
	return b.remaining >= 0
}

// spendEach spends steps on each of n: their product may be beyond an int.
func (b *budget) spendEach(n, steps int) bool {
	if steps > 0 && n > maxSteps/steps {
		n, steps = 1, maxSteps+1
	}
	return b.spend(n * steps)
}

// number is [numberOf], which takes longer the longer the text of the number is.
func (b *budget) number(v any) (number, bool) {
	if text, ok := v.(json.Number); ok && !b.spend(len(text)/16) {
		return number{}, false
	}
	return numberOf(v)
}
