// libzmq and the two Linux calls that the poll thread needs beside it (eventfd is not in Swift's Glibc module).
#pragma once
#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <zmq.h>
