"use strict";
// As much of PostgreSQL's protocol, version 3, as an application with prepared queries needs: one query at a time on a connection.
const net = require("node:net");

const SOCKET = "data/.s.PGSQL.5432";
const PROTOCOL = 196608;
const STARTING_UP = "57P03";
const RETRY_MS = 20;
const ATTEMPTS = 1500;

function text(value) {
    return Buffer.from(`${value}\0`);
}

function int16(value) {
    const bytes = Buffer.alloc(2);
    bytes.writeInt16BE(value);
    return bytes;
}

function int32(value) {
    const bytes = Buffer.alloc(4);
    bytes.writeInt32BE(value);
    return bytes;
}

function message(kind, ...parts) {
    const body = Buffer.concat(parts);
    return Buffer.concat([Buffer.from(kind), int32(body.length + 4), body]);
}

const SYNC = message("S");

/** The fields of an error: the SQLSTATE is under "C", the message under "M". */
function errorOf(body) {
    const fields = body.toString().split("\0").filter(Boolean);
    const of = (kind) => fields.find((field) => field[0] === kind)?.slice(1);
    return Object.assign(new Error(of("M")), { code: of("C") });
}

/** The values of a row, all of them in the binary format. */
function valuesOf(body) {
    const values = [];
    let at = 2;
    for (let left = body.readInt16BE(0); left > 0; left--) {
        const length = body.readInt32BE(at);
        at += 4;
        values.push(length < 0 ? null : body.subarray(at, at + length));
        at += Math.max(0, length);
    }
    return values;
}

/** A connection that is ready for a query; its end ends the process, which cannot answer without it. */
class Connection {
    #socket = net.connect({ path: SOCKET });
    #received = Buffer.alloc(0);
    #rows = [];
    #error = null;
    #settle = null;
    #isReady = false;

    /** Open a connection; tries again while PostgreSQL starts. */
    static async open() {
        for (let attempt = 1; ; attempt++) {
            const connection = new Connection();
            try {
                await connection.#begin();
                return connection;
            } catch (error) {
                connection.#socket.destroy();
                const starting = ["ENOENT", "ECONNREFUSED", STARTING_UP].includes(error.code);
                if (!starting || attempt === ATTEMPTS) {
                    throw error;
                }
                await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
            }
        }
    }

    /** Prepare a query under a name. */
    prepare(name, query) {
        return this.#ask(Buffer.concat([message("P", text(name), text(query), int16(0)), SYNC]));
    }

    /** Run a prepared query, whose parameters are bytes; return its rows. */
    query(name, ...parameters) {
        const bound = message(
            "B",
            text(""),
            text(name),
            int16(1),
            int16(1),
            int16(parameters.length),
            ...parameters.flatMap((value) => [int32(value.length), value]),
            int16(1),
            int16(1),
        );
        return this.#ask(Buffer.concat([bound, message("E", text(""), int32(0)), SYNC]));
    }

    async #begin() {
        const parameters = ["user", "loadcurve", "database", "postgres", ""].map(text);
        const body = Buffer.concat([int32(PROTOCOL), ...parameters]);
        const ready = this.#ask(Buffer.concat([int32(body.length + 4), body]));
        this.#socket.on("data", (bytes) => this.#receive(bytes));
        this.#socket.on("error", (error) => this.#end(error));
        this.#socket.on("close", () => this.#end(new Error("PostgreSQL has closed a connection")));
        await ready;
        this.#isReady = true;
    }

    #ask(bytes) {
        this.#rows = [];
        this.#error = null;
        this.#socket.write(bytes);
        return new Promise((resolve, reject) => {
            this.#settle = (error) => (error ? reject(error) : resolve(this.#rows));
        });
    }

    #end(error) {
        if (this.#isReady) {
            console.error(error.message);
            process.exit(1);
        }
        // The socket tells its end twice where it begins with an error.
        this.#settle?.(this.#error ?? error);
        this.#settle = null;
    }

    #receive(bytes) {
        let received = this.#received.length ? Buffer.concat([this.#received, bytes]) : bytes;
        while (received.length >= 5 && received.length > received.readInt32BE(1)) {
            const length = received.readInt32BE(1) + 1;
            this.#take(String.fromCharCode(received[0]), received.subarray(5, length));
            received = received.subarray(length);
        }
        this.#received = received;
    }

    #take(kind, body) {
        if (kind === "D") {
            this.#rows.push(valuesOf(body));
        } else if (kind === "E") {
            this.#error = errorOf(body);
        } else if (kind === "Z") {
            const settle = this.#settle;
            this.#settle = null;
            settle?.(this.#error);
        }
    }
}

/** Connections that take turns: a query waits until one of them is free. */
class Pool {
    #free = [];
    #waiting = [];

    /** Open connections on which a query is prepared. */
    static async open(count, name, query) {
        const pool = new Pool();
        for (let number = 0; number < count; number++) {
            const connection = await Connection.open();
            await connection.prepare(name, query);
            pool.#free.push(connection);
        }
        return pool;
    }

    /** Run a prepared query; return its rows. */
    async query(name, ...parameters) {
        const connection = this.#free.pop() ?? (await new Promise((resolve) => this.#waiting.push(resolve)));
        try {
            return await connection.query(name, ...parameters);
        } finally {
            const next = this.#waiting.shift();
            next ? next(connection) : this.#free.push(connection);
        }
    }
}

module.exports = { Pool };
