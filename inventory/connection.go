package inventory

import "github.com/ccm-push/ccm-push/inventory/connection"

// What the inventory says about reaching a host.
type (
	Connection = connection.Params
	Hop        = connection.Hop
	Option     = connection.Option
)

// Connection gives what the inventory says about reaching the host. Layers are
// those of [Host.Vars]; within one layer connect: wins over ansible_ variables.
func (h *Host) Connection() Connection {
	var room [few]connection.Settings
	return connection.Resolve(h.Name, h.appendSettings(room[:0]))
}

// appendSettings adds what each of the places says about the connection, low to
// high.
func (h *Host) appendSettings(list []connection.Settings) []connection.Settings {
	for _, p := range h.below.places {
		list = append(list, p.settings)
	}
	list = append(list, h.said.settings)
	for i := range h.files {
		list = append(list, h.files[i].said.settings)
	}
	return list
}

// A Setting is one place that says something about the connection to a host.
type Setting struct {
	connection.Entry
	Layer  string // whose it is, see [Layer]
	Source string // see [Layer]
	Wins   bool   // it is what [Host.Connection] has
}

// Settings lists every place that says something about the connection, low to
// high.
func (h *Host) Settings() []Setting {
	won := connection.WonIn(h.Connection())
	var list []Setting
	for _, p := range h.places() {
		for _, s := range p.settings {
			for _, e := range s.Entries() {
				list = append(list, Setting{Entry: e, Layer: p.of(), Source: p.source, Wins: won(e)})
			}
		}
	}
	return list
}
