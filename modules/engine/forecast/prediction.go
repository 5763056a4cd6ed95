package forecast

// A Prediction notes how certain what is predicted of an entry is: on which resource the
// answers that it got depended first.
type Prediction struct {
	Because  string   // the resource that it depends on; "" is certain. Set beforehand if a requirement is uncertain
	Reads    *ReadSet // all that was read; nil if it is not needed
	inList   string   // what it would depend on if it came after all that stands before it
	doubted  bool     // an answer was uncertain
	recorded bool     // the plan is in the forecast
}

// Doubt notes that an answer depended on a resource.
func (p *Prediction) Doubt(ref string) {
	p.doubted = true
	if p.Because == "" {
		p.Because = ref
	}
}

// Recorded notes that the plan is in the forecast.
func (p *Prediction) Recorded() { p.recorded = true }

// Unrecorded reports whether answers were uncertain and no plan is in the forecast: the
// entry may turn out to act, in an unknown way.
func (p *Prediction) Unrecorded() bool { return p.doubted && !p.recorded }

// doubtInList notes on what an answer would depend in a list.
func (p *Prediction) doubtInList(ref string) {
	if p.inList == "" {
		p.inList = ref
	}
}

// AsInList doubts what a list would have put in doubt.
func (p *Prediction) AsInList() {
	if p.inList != "" {
		p.Doubt(p.inList)
	}
}
