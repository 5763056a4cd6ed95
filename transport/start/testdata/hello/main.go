// Command hello stands for the host program in tests: it greets and then
// repeats its input. Its facts argument can make it do other things.
package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
)

func main() {
	nonce, facts := os.Args[2], os.Args[3]
	dir, _ := os.Getwd()
	fmt.Printf("{\"hello\":{\"nonce\":%q,\"facts\":%q,\"dir\":%q,\"uid\":%d,\"home\":%q,\"umask\":\"%03o\"}}\n", nonce, facts, dir, os.Getuid(), os.Getenv("HOME"), syscall.Umask(0))
	fmt.Fprintln(os.Stderr, "hello on stderr")
	if code, ok := strings.CutPrefix(facts, "exit"); ok {
		var n int
		fmt.Sscan(code, &n)
		os.Exit(n)
	}
	io.Copy(os.Stdout, os.Stdin)
}
