package inventory

// A Setting is one place that says something about the connection to a host.
type Setting struct {
	Key  string // in a connect map, or "-o " and the name of an option of ssh
	Name string // as it is written: ansible_port, port
	// Value is what is written there, for arguments of ssh all of them; nil for a
	// password, and for a place that takes away what lower ones say.
	Value  any
	Secret bool   // it is a password
	Pos    string // file:line:column
	Layer  string // whose it is, see [Layer.Name]
	Source string // see [Layer.Source]
	Wins   bool   // it is what [Host.Connection] has
}

// Settings lists every place that says something about the connection, low to
// high.
func (h *Host) Settings() []Setting {
	c := h.Connection()
	winning := make(map[[2]string]bool, len(c.Pos)+len(c.Options)) // key and position
	for key, at := range c.Pos {
		winning[[2]string{key, at}] = true
	}
	for _, o := range c.Options {
		winning[[2]string{"-o " + o.Name, o.Pos}] = true
	}
	var list []Setting
	for p := range h.places() {
		for _, s := range p.layer.settings {
			for _, one := range s.named() {
				one.Pos, one.Layer, one.Source = s.at.Pos(), p.kind+" "+p.name, p.source
				one.Wins = winning[[2]string{one.Key, one.Pos}]
				list = append(list, one)
			}
		}
	}
	return list
}

// named gives one Setting for each field, with key, name and value. A setting
// without fields takes one away, or is empty.
func (s setting) named() []Setting {
	var list []Setting
	for _, f := range s.fields {
		one := Setting{Key: f.name(), Name: s.name, Secret: isSecretKey(f.key)}
		if !one.Secret {
			one.Value = s.at.Any()
		}
		list = append(list, one)
	}
	if key := s.key(); len(list) == 0 && key != "" {
		list = []Setting{{Key: key, Name: s.name, Secret: isSecretKey(key)}}
	}
	return list
}

// key is that of a setting which takes a value away.
func (s setting) key() string {
	if s.rank == ansibleVar {
		return connectionKey(s.name)
	}
	if s.rank == connectMaps {
		return s.name
	}
	return ""
}

func (f field) name() string {
	if f.key == "" {
		return "-o " + f.option.Name
	}
	return f.key
}
