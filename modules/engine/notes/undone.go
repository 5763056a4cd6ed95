package notes

// Undoes names a change of a run.
type Undoes struct {
	Run    string `json:"run"`
	Number int    `json:"n"`
}

// pastUndone notes that a change has been taken back, or with an empty By that it is there again.
type pastUndone struct {
	Number int    `json:"n"`
	By     string `json:"by,omitempty"`
}

// An Undoing is a run that takes others back.
type Undoing struct {
	Store PastStore
	By    string // its id
	logs  map[string]*Past
}

// maxUndoing bounds how many runs that each take another one back are followed.
const maxUndoing = 100

// Undone records that a change has been reverted. If that change was itself an undo of another change, the other one is
// in effect again, and so on.
func (u *Undoing) Undone(c Undoes) error {
	by := u.By
	for range maxUndoing {
		p, err := u.log(c.Run)
		if err != nil || c.Number > len(p.changes) || p.damage != "" { // it is kept no more, or nothing can be added
			return err
		}
		change := p.changes[c.Number-1]
		change.UndoneBy = by
		if err := p.write(&pastLine{Undone: &pastUndone{c.Number, by}}, false); err != nil || change.Undoes == nil || change.Undoes.Number < 1 {
			return err
		}
		c = *change.Undoes
		if by = ""; change.UndoneBy == "" {
			by = u.By
		}
	}
	return nil
}

// log returns the record of a run.
func (u *Undoing) log(run string) (*Past, error) {
	if p := u.logs[run]; p != nil {
		return p, nil
	}
	p, err := readPast(u.Store, run)
	if err != nil {
		return nil, err
	}
	if u.logs == nil {
		u.logs = map[string]*Past{}
	}
	u.logs[run] = p
	return p, nil
}
