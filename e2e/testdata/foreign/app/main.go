// App is an application with settings in a file, as the DSC resource in the folder
// beside it finds one: a program on PATH.
//
//	e2eapp get            prints updates=on or updates=off; nothing without a setting
//	e2eapp set on|off
//	e2eapp clear
package main

import (
	"fmt"
	"os"
)

const file = "/etc/e2e/app.conf"

func main() {
	err := fmt.Errorf("usage: e2eapp get | set on|off | clear")
	switch {
	case len(os.Args) == 2 && os.Args[1] == "get":
		var text []byte
		if text, err = os.ReadFile(file); err == nil || os.IsNotExist(err) {
			_, err = os.Stdout.Write(text)
		}
	case len(os.Args) == 2 && os.Args[1] == "clear":
		err = os.Remove(file)
	case len(os.Args) == 3 && os.Args[1] == "set":
		err = os.WriteFile(file, []byte("updates="+os.Args[2]+"\n"), 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
