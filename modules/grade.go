package modules

// A Grade of a prediction names the share of such predictions that come true. The zero Grade is Certain.
type Grade string

// The grades.
const (
	Certain Grade = ""        // never wrong
	Likely  Grade = "likely"  // right in at least 99 of 100 cases
	Unknown Grade = "unknown" // may be wrong
)

// Valid reports whether g is one of the grades.
func (g Grade) Valid() bool { return g == Certain || g == Likely || g == Unknown }

// String returns the grade as events name it.
func (g Grade) String() string {
	if g == Certain {
		return "certain"
	}
	return string(g)
}
