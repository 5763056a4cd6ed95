package fromansible

import "github.com/ccm-push/ccm-push/playbooks/fromansible/layout"

// namedTask is a task of which a name is all.
func namedTask(typ string) func(t *task) {
	return func(t *task) {
		t.checkArgs()
		n := t.arg("name")
		if n == nil {
			t.problem("%s without a name", t.module)
			return
		}
		t.write(&layout.Entry{Type: typ, Name: t.text(n)})
	}
}
