package fromansible

// hostRows are the modules that are about the host as a whole.
func hostRows() map[string]row {
	return map[string]row{
		"hostname": {args: map[string]arg{"name": same("name"), "use": none("the files and the program hostname are the same everywhere")}, to: namedTask("hostname")},
		"timezone": {args: map[string]arg{"name": same("name"), "hwclock": no("the clock of the hardware stays as it is")}, to: namedTask("timezone")},
	}
}

// namedTask is a task of which a name is all.
func namedTask(typ string) func(t *task, r row) {
	return func(t *task, r row) {
		t.checkArgs(r)
		n := t.arg("name")
		if n == nil {
			t.problem("%s without a name", t.module)
			return
		}
		t.write(&entry{typ: typ, name: t.text(n)})
	}
}
