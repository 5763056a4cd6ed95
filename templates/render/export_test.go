package render

// For the tests outside.
var (
	PlainPath  = plainPath
	FromResult = fromResult
)

// View is what Inputs hold, for the tests outside.
type View struct {
	Facts, Data                       []string
	AllFacts, AllData, Item, Volatile bool
}

func (in Inputs) View() View {
	return View{in.facts, in.data, in.allFacts, in.allData, in.item, in.Volatile}
}
