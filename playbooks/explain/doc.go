// Package explain tells of one resource on one host: why it is in the run, where each of its
// properties is from, what it waits for and what waits for it.
//
//	rendered, err := compiler.Render(ctx, host)
//	for _, i := range explain.Find(rendered, "file#/etc/motd") {
//		one, err := explain.Of(ctx, play, host.Name, rendered, i)
//		fmt.Print(one.Text())
//	}
//
// What a sensitive resource was given, and what that was made of, is withheld.
package explain
