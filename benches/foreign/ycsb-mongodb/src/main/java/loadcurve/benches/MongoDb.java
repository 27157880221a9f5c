package loadcurve.benches;

import com.mongodb.MongoException;
import com.mongodb.client.FindIterable;
import com.mongodb.client.MongoClient;
import com.mongodb.client.MongoClients;
import com.mongodb.client.MongoCollection;
import com.mongodb.client.model.Filters;
import com.mongodb.client.model.Projections;
import com.mongodb.client.model.Sorts;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.Vector;
import org.bson.Document;
import org.bson.conversions.Bson;
import org.bson.types.Binary;
import site.ycsb.ByteArrayByteIterator;
import site.ycsb.ByteIterator;
import site.ycsb.DB;
import site.ycsb.Status;

/** YCSB's operations on MongoDB, each as one call of the driver; all threads share one client. */
public final class MongoDb extends DB {
  private static MongoClient client;
  private static int threads;

  private String namespace;

  @Override
  public void init() {
    namespace = getProperties().getProperty("mongodb.database", "ycsb");
    synchronized (MongoDb.class) {
      if (threads++ == 0) {
        client = MongoClients.create(getProperties().getProperty("mongodb.url"));
      }
    }
  }

  @Override
  public void cleanup() {
    synchronized (MongoDb.class) {
      if (--threads == 0) {
        client.close();
      }
    }
  }

  @Override
  public Status read(String table, String key, Set<String> fields, Map<String, ByteIterator> result) {
    return answered(() -> {
      Document found = selected(collection(table).find(Filters.eq("_id", key)), fields).first();
      if (found == null) {
        return Status.NOT_FOUND;
      }
      copy(found, result);
      return Status.OK;
    });
  }

  @Override
  public Status scan(
      String table, String first, int count, Set<String> fields, Vector<HashMap<String, ByteIterator>> result) {
    return answered(() -> {
      FindIterable<Document> asked =
          collection(table).find(Filters.gte("_id", first)).sort(Sorts.ascending("_id")).limit(count);
      for (Document found : selected(asked, fields)) {
        HashMap<String, ByteIterator> record = new HashMap<>();
        copy(found, record);
        result.add(record);
      }
      return Status.OK;
    });
  }

  @Override
  public Status update(String table, String key, Map<String, ByteIterator> values) {
    return answered(() -> {
      Document change = new Document("$set", document(values));
      long matched = collection(table).updateOne(Filters.eq("_id", key), change).getMatchedCount();
      return matched == 1 ? Status.OK : Status.NOT_FOUND;
    });
  }

  @Override
  public Status insert(String table, String key, Map<String, ByteIterator> values) {
    return answered(() -> {
      collection(table).insertOne(document(values).append("_id", key));
      return Status.OK;
    });
  }

  @Override
  public Status delete(String table, String key) {
    return answered(() -> {
      long deleted = collection(table).deleteOne(Filters.eq("_id", key)).getDeletedCount();
      return deleted == 1 ? Status.OK : Status.NOT_FOUND;
    });
  }

  private MongoCollection<Document> collection(String table) {
    return client.getDatabase(namespace).getCollection(table);
  }

  private interface Call {
    Status run();
  }

  private static Status answered(Call call) {
    try {
      return call.run();
    } catch (MongoException failure) {
      System.err.println(failure.getMessage());
      return Status.ERROR;
    }
  }

  private static FindIterable<Document> selected(FindIterable<Document> found, Set<String> fields) {
    if (fields == null) {
      return found;
    }
    Bson projection = Projections.include(List.copyOf(fields));
    return found.projection(projection);
  }

  private static Document document(Map<String, ByteIterator> values) {
    Document document = new Document();
    values.forEach((name, value) -> document.append(name, value.toArray()));
    return document;
  }

  private static void copy(Document found, Map<String, ByteIterator> result) {
    found.forEach((name, value) -> {
      if (value instanceof Binary) {
        result.put(name, new ByteArrayByteIterator(((Binary) value).getData()));
      }
    });
  }
}
