// Package reach knows which changes may touch how a host is reached: whoever makes one wrongly
// may have no way left to put it right.
package reach
