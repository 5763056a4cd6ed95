// The program toy is an application with settings: what the resource gotoy manages. It
// tells where they are, and what they are.
//
//	toy path FOLDER
//	toy show FOLDER
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: toy path|show FOLDER")
		os.Exit(1)
	}
	file := filepath.Join(os.Args[2], "toy.json")
	switch os.Args[1] {
	case "path":
		fmt.Println(file)
	case "show":
		text, err := os.ReadFile(file)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Stdout.Write(text)
	}
}
