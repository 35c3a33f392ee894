// Package pipeline divides the layers of a model over unequal devices that form one pipeline. Split cuts them into one run
// for each stage and chooses the class of device of each, so that the slowest stage is as fast as possible. It is pure: the
// same input gives the same answer.
//
// A stage's time is any function of class and run, so it may hold the memory that the run needs and
// need not grow with the layers. Exact dynamic programme, with the time s(c,i,j) of layers [i, j) on class c and the time
// h(a,b) to receive from class a on class b:
//
//	best(u+e_c, j, c) = min over i < j and last class a of max(best(u, i, a), h(a,c) + s(c,i,j))
//
// u counts the devices that are used of each class. Every pipeline is a path through these states, and the value of a
// state depends on what came before only through its slowest stage, so the programme is exact. Classes whose sends take
// equally long share one value of "last class"; where none differ it vanishes.
package pipeline
