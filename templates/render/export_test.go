package render

// For the tests outside.
var (
	PlainPath  = plainPath
	FromResult = fromResult
)

// View is what Inputs hold, for the tests outside.
type View struct {
	Facts, Data, Host, Shared                  []string
	AllFacts, AllData, AllHost, Item, Volatile bool
}

func (in Inputs) View() View {
	return View{in.facts, in.data, in.host, in.shared, in.allFacts, in.allData, in.allHost, in.item, in.Volatile}
}
