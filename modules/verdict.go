package modules

// Unmanaged is the error of a Check that finds out that the resource is not wanted on
// this host at all, such as by a condition that only the host can answer. The engine
// reports it as skipped, for this reason; what depends on it runs all the same.
type Unmanaged string

func (u Unmanaged) Error() string { return string(u) }

// NotYet is the error of a Check that has to know how another resource was left, and
// cannot: its [Host].State is not known. In a check run in which that resource would
// be changed, the engine reports that the checked one would be, too; otherwise it is
// an error as any other. It holds the reference of the other one.
type NotYet string

func (n NotYet) Error() string { return "nothing is known yet of " + string(n) }
