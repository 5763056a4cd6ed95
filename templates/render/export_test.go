package render

// Exports for the external tests.
var (
	PlainPath  = plainPath
	FromResult = fromResult
)

// View has the content of Inputs, for the external tests.
type View struct {
	Facts, Data, Host, Shared                  []string
	AllFacts, AllData, AllHost, Item, Volatile bool
}

func (in Inputs) View() View {
	return View{in.facts, in.data, in.host, in.shared, in.allFacts, in.allData, in.allHost, in.item, in.Volatile}
}
