package connection

// An Entry is what one place says of one key, to be shown.
type Entry struct {
	Key  string // in a connect map, or "-o " and the name of an option of ssh
	Name string // as it is written: ansible_port, port
	// Value is what is written there, for arguments of ssh all of them; nil for a
	// password, and for a place that takes away what lower ones say.
	Value  any
	Secret bool   // it is a password
	Pos    string // file:line:column
}

// Entries gives one for each key that s speaks of. A setting that takes one away, is
// empty or cannot be honoured has none but its own.
func (s Setting) Entries() []Entry {
	var list []Entry
	for _, f := range s.fields {
		e := Entry{Key: f.name(), Name: s.name, Secret: IsSecretKey(f.key), Pos: s.at.Pos()}
		if !e.Secret {
			e.Value = s.at.Any()
		}
		list = append(list, e)
	}
	if key := s.key(); len(list) == 0 && key != "" {
		list = []Entry{{Key: key, Name: s.name, Secret: IsSecretKey(key), Pos: s.at.Pos()}}
		if len(s.refused) > 0 && !list[0].Secret {
			list[0].Value = s.at.Any()
		}
	}
	return list
}

// key is that of a setting which has no fields; "" if it has none.
func (s Setting) key() string {
	switch s.rank {
	case ansibleVar:
		return keyOf(s.name)
	case connectMaps:
		return s.name
	}
	return ""
}

func (f field) name() string {
	if f.key == "" {
		return optionName(f.option.Name)
	}
	return f.key
}

// optionName is what an [Entry] has for its key if that is an option of ssh.
func optionName(name string) string { return "-o " + name }

// WonIn tells which entries p has come from.
func WonIn(p Params) func(Entry) bool {
	type place struct{ key, at string }
	winning := make(map[place]bool, len(p.Pos)+len(p.Options))
	for key, at := range p.Pos {
		winning[place{key, at}] = true
	}
	for _, o := range p.Options {
		winning[place{optionName(o.Name), o.Pos}] = true
	}
	return func(e Entry) bool { return winning[place{e.Key, e.Pos}] }
}
